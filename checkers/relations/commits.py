"""Committed offsets: what was asked for, and what groups were told."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # Commits that may have taken effect. A transactional one does so when its transaction commits.
    "commits": Relation(
        """
        SELECT o.history, o.group_id, o.topic, o.partition, o.op, o.commit_id, o.committed_offset,
            CASE WHEN o.txn IS NULL THEN o.call_ns ELSE t.commit_call END AS call_ns,
            CASE WHEN o.outcome <> 'ok' THEN NULL
                 WHEN o.txn IS NULL THEN o.return_ns ELSE t.commit_return END AS done_ns
        FROM operations o
        LEFT JOIN txns t ON t.history = o.history AND t.txn = o.txn
        WHERE o.kind = 'commit' AND o.outcome <> 'fail' AND o.topic IS NOT NULL
            AND (o.txn IS NULL OR t.state IN ('committed', 'unknown'))
        """,
        kept=True,
    ),
    # What groups were told that they had committed; -1 is nothing. Groups that somebody deleted are left out.
    "offset_fetches": Relation(
        """
        SELECT o.history, o.group_id, o.topic, o.partition, o.op, o.commit_id, o.committed_offset,
            o.call_ns, o.return_ns
        FROM operations o
        WHERE o.kind = 'committed' AND o.outcome = 'ok' AND o.topic IS NOT NULL AND o.return_ns IS NOT NULL
            AND o.committed_offset IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM operations d WHERE d.history = o.history AND d.group_id = o.group_id
                AND d.kind IN ('delete_group', 'delete_groups', 'delete_offsets') AND d.outcome <> 'fail')
        """,
        kept=True,
    ),
    # Groups in which some client commits by itself: their commits are not in the history.
    "self_committing": Relation("""
        SELECT DISTINCT c.history, c.group_id FROM clients c WHERE c.auto_commit AND c.group_id IS NOT NULL
        """),
    "named_commits": Relation("""
        SELECT c.history, c.group_id, c.topic, c.partition, c.op, c.commit_id, c.call_ns, c.done_ns, c.committed_offset
        FROM commits c
        JOIN operations o ON o.history = c.history AND o.op = c.op AND o.topic = c.topic AND o.partition = c.partition
        WHERE c.commit_id IS NOT NULL AND o.txn IS NULL
        """),
}

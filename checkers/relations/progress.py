"""What went on and what stood still."""

from checkers.relations.relation import Relation

RELATIONS = {
    # When the last fault was taken back, in histories in which every fault was.
    "heals": Relation(
        """
        SELECT b.history, MAX(e.at_ns) AS healed_ns
        FROM (SELECT DISTINCT w.history, w.window_id FROM events w WHERE w.kind = 'window-begin') b
        LEFT JOIN events e ON e.history = b.history AND e.window_id = b.window_id AND e.kind = 'window-healed'
        GROUP BY b.history
        HAVING MIN(CASE WHEN e.at_ns IS NULL THEN 0 ELSE 1 END) = 1
        """,
        kept=True,
    ),
    # Calls that ask a partition, or a group, for progress: `what` and `lane` tell them apart.
    "asking": Relation(
        """
        SELECT o.history, o.kind AS what, o.topic, o.partition, o.group_id, o.op, o.client, o.call_ns, o.return_ns,
            o.outcome
        FROM operations o
        WHERE (o.kind = 'send' AND o.topic IS NOT NULL) OR (o.kind IN ('commit', 'committed') AND o.group_id IS NOT NULL
            AND o.txn IS NULL)
        """,
        kept=True,
    ),
    # What was asked after the heal and never acknowledged, and for how long it was waited for.
    "stalls": Relation(
        """
        SELECT a.history, a.what, a.topic, a.partition, a.group_id, MIN(a.op) AS op_a,
            CASE WHEN MAX(a.op) > MIN(a.op) THEN MAX(a.op) END AS op_b, COUNT(*) AS calls,
            MAX(CASE WHEN c.library = 'wire' THEN 1 ELSE 0 END) AS raw,
            MAX(COALESCE(a.return_ns, e.end_ns, a.call_ns)) - MIN(a.call_ns) AS waited_ns
        FROM asking a
        JOIN heals h ON h.history = a.history AND a.call_ns >= h.healed_ns
        LEFT JOIN clients c ON c.history = a.history AND c.client = a.client
        LEFT JOIN (SELECT o.history, MAX(o.return_ns) AS end_ns FROM operations o GROUP BY o.history) e
            ON e.history = a.history
        GROUP BY a.history, a.what, a.topic, a.partition, a.group_id
        HAVING MAX(CASE WHEN a.outcome = 'ok' THEN 1 ELSE 0 END) = 0
        """,
        kept=True,
    ),
}

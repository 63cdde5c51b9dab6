"""How transactions ended."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # How each transaction ended, as its own client knows it. open: a commit was never asked for.
    "endings": Relation(
        """
        SELECT o.history, o.txn,
            MAX(CASE WHEN o.kind = 'commit_txn' AND o.outcome = 'ok' THEN 1 ELSE 0 END) AS commit_ok,
            MAX(CASE WHEN o.kind = 'commit_txn' AND o.outcome <> 'fail' THEN 1 ELSE 0 END) AS commit_tried,
            MAX(CASE WHEN o.kind = 'abort_txn' AND o.outcome = 'ok' THEN 1 ELSE 0 END) AS abort_ok,
            MIN(CASE WHEN o.kind = 'commit_txn' AND o.outcome <> 'fail' THEN o.call_ns END) AS commit_call,
            MAX(CASE WHEN o.kind = 'commit_txn' AND o.outcome = 'ok' THEN o.return_ns END) AS commit_return,
            MIN(CASE WHEN o.kind IN ('commit_txn', 'abort_txn') THEN o.op END) AS ended_by
        FROM operations o WHERE o.txn IS NOT NULL GROUP BY o.history, o.txn
        """,
        kept=True,
    ),
    "written_in_txn": Relation(
        """
        SELECT s.history, s.value, s.op, s.txn, s.outcome FROM sent s WHERE s.txn IS NOT NULL
        """,
        kept=True,
    ),
    # A commit of unknown outcome is known after all when a read_committed reader saw one of its records.
    "proven": Relation("""
        SELECT DISTINCT w.history, w.txn
        FROM written_in_txn w
        JOIN endings e ON e.history = w.history AND e.txn = w.txn AND e.commit_ok = 0 AND e.abort_ok = 0
        JOIN seen r ON r.history = w.history AND r.value = w.value
        JOIN readers c ON c.history = r.history AND c.client = r.client AND c.committed_only
        WHERE e.commit_tried = 1
        """),
    "txns": Relation(
        """
        SELECT t.history, t.txn, e.ended_by, e.commit_call, e.commit_return,
            CASE WHEN e.commit_ok = 1 OR p.txn IS NOT NULL THEN 'committed'
                 WHEN e.abort_ok = 1 THEN 'aborted'
                 WHEN e.commit_tried = 1 THEN 'unknown'
                 ELSE 'open' END AS state
        FROM (SELECT w.history, w.txn FROM written_in_txn w UNION SELECT f.history, f.txn FROM endings f) t
        LEFT JOIN endings e ON e.history = t.history AND e.txn = t.txn
        LEFT JOIN proven p ON p.history = t.history AND p.txn = t.txn
        """,
        kept=True,
    ),
}

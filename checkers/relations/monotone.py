"""Numbers that only rise, as answers told them: ends, log starts, epochs, generations."""

from brokertrial.checkers.relations.relation import Relation

_STEADY = "(h.nodes = 1 AND f.first_ns IS NULL)"

RELATIONS = {
    # When the first fault of each history began.
    "first_faults": Relation("""
        SELECT e.history, MIN(e.at_ns) AS first_ns FROM events e WHERE e.kind = 'window-begin' GROUP BY e.history
        """),
    # From when on a partition may be told of late: the first fault of all, or the first change of its leader.
    "disturbances": Relation("""
        SELECT f.history, CAST(NULL AS STRING) AS topic, CAST(NULL AS BIGINT) AS partition, f.first_ns
        FROM first_faults f
        UNION ALL
        SELECT e.history, e.topic, e.partition, MIN(e.at_ns)
        FROM events e
        JOIN (
            SELECT x.history, x.topic, x.partition, MIN(x.leader_epoch) AS first_epoch FROM events x
            WHERE x.kind = 'leader' AND x.topic IS NOT NULL GROUP BY x.history, x.topic, x.partition
        ) o ON o.history = e.history AND o.topic = e.topic AND o.partition = e.partition
        WHERE e.kind = 'leader' AND e.leader_epoch > o.first_epoch
        GROUP BY e.history, e.topic, e.partition
        """),
    # When each history first had a node killed, or its power cut.
    "first_crashes": Relation("""
        SELECT e.history, MIN(e.at_ns) AS first_ns FROM events e
        WHERE e.kind IN ('window-begin', 'hit', 'node') AND (e.fields LIKE '%kill%' OR e.fields LIKE '%power%'
            OR e.fields LIKE '%crash%')
        GROUP BY e.history
        """),
    # Answers that told something which never falls, while `scope` stays the same.
    "rising": Relation(
        f"""
        SELECT x.history, x.quantity, x.topic, x.partition, x.scope, x.op, x.call_ns, x.return_ns, x.level
        FROM (
            SELECT o.history, 'high-watermark' AS quantity, o.topic, o.partition,
                COALESCE(o.leader_epoch, -1) AS scope, o.op, o.call_ns, o.return_ns, o.high_watermark AS level
            FROM operations o
            JOIN histories h ON h.history = o.history
            LEFT JOIN first_faults f ON f.history = o.history
            WHERE o.kind IN ('fetch', 'list_offsets') AND o.outcome = 'ok' AND o.high_watermark >= 0
                AND (o.leader_epoch >= 0 OR {_STEADY})
            UNION ALL
            SELECT o.history, 'last-stable', o.topic, o.partition, COALESCE(o.leader_epoch, -1), o.op, o.call_ns,
                o.return_ns, o.last_stable
            FROM operations o
            JOIN histories h ON h.history = o.history
            LEFT JOIN first_faults f ON f.history = o.history
            WHERE o.kind IN ('fetch', 'list_offsets') AND o.outcome = 'ok' AND o.last_stable >= 0
                AND (o.leader_epoch >= 0 OR {_STEADY})
            UNION ALL
            SELECT o.history, 'log-start', o.topic, o.partition, CAST(-1 AS BIGINT), o.op, o.call_ns, o.return_ns,
                o.log_start
            FROM operations o
            LEFT JOIN first_crashes f ON f.history = o.history
            WHERE o.kind IN ('fetch', 'list_offsets', 'delete_records') AND o.outcome = 'ok' AND o.log_start >= 0
                AND (f.first_ns IS NULL OR o.return_ns < f.first_ns)
            UNION ALL
            SELECT o.history, 'leader-epoch', o.topic, o.partition, o.node, o.op, o.call_ns, o.return_ns,
                o.leader_epoch
            FROM operations o
            WHERE o.outcome = 'ok' AND o.leader_epoch >= 0 AND o.node IS NOT NULL
                AND (o.kind = 'fetch' OR (o.kind = 'list_offsets' AND o.high_watermark >= 0))
        ) x
        LEFT JOIN recreated d ON d.history = x.history AND d.topic = x.topic
        WHERE x.return_ns IS NOT NULL AND d.topic IS NULL
        """,
        kept=True,
    ),
    # For each answer that told less than one before its call: the most that had been told, and by which operation.
    "regressions": Relation(
        """
        SELECT w.history, w.quantity, w.topic, w.partition, w.scope, w.op AS op_b, w.call_ns, w.return_ns, w.level,
            w.reached AS before_level, MIN(q.op) AS op_a, MIN(q.return_ns) AS told_ns
        FROM (
            SELECT x.history, x.quantity, x.topic, x.partition, x.scope, x.op, x.call_ns, x.return_ns, x.level, x.asks,
                MAX(x.told) OVER (PARTITION BY x.history, x.quantity, x.topic, x.partition, x.scope
                    ORDER BY x.at_ns NULLS LAST, x.asks DESC NULLS LAST
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reached
            FROM (
                SELECT o.history, o.quantity, o.topic, o.partition, o.scope, o.op, o.call_ns, o.return_ns, o.level,
                    1 AS asks, o.call_ns AS at_ns, CAST(NULL AS BIGINT) AS told
                FROM rising o
                UNION ALL
                SELECT o.history, o.quantity, o.topic, o.partition, o.scope, o.op, o.call_ns, o.return_ns, o.level,
                    0, o.return_ns, o.level
                FROM rising o
            ) x
        ) w
        JOIN rising q ON q.history = w.history AND q.quantity = w.quantity AND q.topic = w.topic
            AND q.partition = w.partition AND q.scope = w.scope AND q.level = w.reached AND q.return_ns < w.call_ns
        WHERE w.asks = 1 AND w.reached > w.level
        GROUP BY w.history, w.quantity, w.topic, w.partition, w.scope, w.op, w.call_ns, w.return_ns, w.level, w.reached
        """,
        kept=True,
    ),
}

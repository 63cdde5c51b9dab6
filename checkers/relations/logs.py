"""Each partition as one log: appends, ends and sights with their times, for checkers/linearizability/log.py."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # The logs, numbered.
    "logs": Relation(
        """
        SELECT x.history, x.topic, x.partition,
            ROW_NUMBER() OVER (ORDER BY x.history NULLS LAST, x.topic NULLS LAST, x.partition NULLS LAST) AS log
        FROM (
            SELECT DISTINCT o.history, o.topic, o.partition FROM operations o
            LEFT JOIN recreated d ON d.history = o.history AND d.topic = o.topic
            JOIN histories h ON h.history = o.history AND (h.nodes = 1 OR NOT h.unclean_election)
            WHERE o.topic IS NOT NULL AND o.partition >= 0 AND d.topic IS NULL
        ) x
        """,
        kept=True,
    ),
    # Sends of which no base is known, or that need not have been done when they returned: few, as a rule none.
    "uncertain": Relation(
        """
        SELECT u.history, u.topic, u.partition, u.op, u.call_ns, p.guarded,
            CASE WHEN u.outcome = 'ok' AND p.durable AND p.guarded THEN u.return_ns END AS return_ns
        FROM operations u
        JOIN producers p ON p.history = u.history AND p.client = u.client
        WHERE u.kind = 'send' AND u.outcome <> 'fail'
            AND (u.outcome = 'info' OR u.base_offset IS NULL OR u.base_offset < 0 OR NOT p.durable)
        """,
        kept=True,
    ),
    # Their records.
    "uncertain_sent": Relation(
        """
        SELECT u.*, s.value FROM uncertain u
        JOIN sent s ON s.history = u.history AND s.op = u.op AND s.topic = u.topic AND s.partition = u.partition
        """,
        kept=True,
    ),
    # Appends with a known base. return_ns is null where nobody promised that the append was done by then: not all
    # in-sync replicas acknowledged it, or it is known only because its records were seen.
    "appends": Relation("""
        SELECT o.history, o.topic, o.partition, o.op, o.call_ns, o.return_ns, o.base_offset AS low,
            COALESCE(o.record_count, 1) AS records
        FROM operations o
        JOIN producers p ON p.history = o.history AND p.client = o.client AND p.durable
        WHERE o.kind = 'send' AND o.outcome = 'ok' AND o.base_offset >= 0
        UNION ALL
        SELECT u.history, u.topic, u.partition, u.op, u.call_ns, MIN(u.return_ns) AS return_ns,
            MIN(r.log_offset) AS low,
            COUNT(DISTINCT CASE WHEN u.guarded THEN r.value END) + MAX(CASE WHEN u.guarded THEN 0 ELSE 1 END) AS records
        FROM uncertain_sent u
        JOIN seen r ON r.history = u.history AND r.value = u.value AND r.topic = u.topic AND r.partition = u.partition
        GROUP BY u.history, u.topic, u.partition, u.op, u.call_ns
        """),
    # Ends of a log that were asked for and told. A high watermark in a fetch answer is only a lower bound: it may go
    # back when the leader changes, and the records beside it may lie above it.
    "ends": Relation("""
        SELECT o.history, o.topic, o.partition, o.op, o.call_ns, o.return_ns, o.high_watermark AS low FROM operations o
        WHERE o.kind = 'list_offsets' AND o.outcome = 'ok' AND o.high_watermark >= 0 AND o.return_ns IS NOT NULL
        """),
    # A send sees nothing: without it the many need not be brought together with what was read.
    "end_observations": Relation(
        """
        SELECT o.history, o.topic, o.partition, o.op, o.call_ns, o.return_ns, o.high_watermark AS low FROM operations o
        WHERE o.kind = 'fetch' AND o.outcome = 'ok' AND o.high_watermark >= 0 AND o.return_ns IS NOT NULL
        UNION ALL
        SELECT o.history, o.topic, o.partition, o.op, o.call_ns, o.return_ns, r.highest + 1 AS low
        FROM (
            SELECT r.history, r.op, r.topic, r.partition, MAX(r.log_offset) AS highest FROM found r
            GROUP BY r.history, r.op, r.topic, r.partition
        ) r
        JOIN operations o ON o.history = r.history AND o.op = r.op AND o.topic = r.topic AND o.partition = r.partition
        WHERE o.return_ns IS NOT NULL AND o.kind <> 'send'
        """,
        kept=True,
    ),
    "appends_by_log": Relation("""
        SELECT k.log, a.op, a.call_ns, a.return_ns, a.low, a.records
        FROM appends a JOIN logs k ON k.history = a.history AND k.topic = a.topic AND k.partition = a.partition
        """),
}

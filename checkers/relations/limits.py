"""What retention and cleaning may take, and what they left."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # Where DeleteRecords was asked to cut; -1 asks for all of it.
    "asked_cuts": Relation("""
        SELECT o.history, o.topic, o.partition, o.base_offset FROM operations o
        WHERE o.kind = 'delete_records' AND o.outcome <> 'fail'
        """),
    # The highest log start that was told of each partition which nobody cut, and by whom first.
    "risen_starts": Relation(
        """
        SELECT o.history, o.topic, o.partition, o.log_start, MIN(o.op) AS op, MIN(o.return_ns) AS return_ns,
            MIN(k.retention_ms) AS retention_ms, MIN(k.retention_bytes) AS retention_bytes
        FROM operations o
        JOIN topics k ON k.history = o.history AND k.topic = o.topic AND (k.deletes OR k.compacted)
        LEFT JOIN recreated d ON d.history = o.history AND d.topic = o.topic
        LEFT JOIN asked_cuts a ON a.history = o.history AND a.topic = o.topic AND a.partition = o.partition
        WHERE o.outcome = 'ok' AND o.log_start > 0 AND o.return_ns IS NOT NULL AND d.topic IS NULL AND a.topic IS NULL
            AND k.deletes AND k.retention_ms IS NOT NULL AND k.retention_bytes = -1
        GROUP BY o.history, o.topic, o.partition, o.log_start
        """,
        kept=True,
    ),
    # One send of each history with its timestamp: what ties the clock of records to that of operations.
    "first_stamps": Relation("""
        SELECT s.history, MAX(s.record_time) AS record_time, MAX(o.call_ns) AS call_ns
        FROM sent s
        JOIN operations o ON o.history = s.history AND o.op = s.op AND o.topic = s.topic AND o.partition = s.partition
        JOIN (SELECT u.history, MIN(u.op) AS op FROM sent u WHERE u.record_time IS NOT NULL GROUP BY u.history) f
            ON f.history = s.history AND f.op = s.op
        GROUP BY s.history
        """),
    # What the last read of a compacted partition, to its end, was shown.
    "last_reads": Relation(
        """
        SELECT e.history, e.topic, e.partition, e.client, MAX(e.log_offset) AS log_end
        FROM events e
        JOIN topics k ON k.history = e.history AND k.topic = e.topic AND k.compacted AND NOT k.deletes
        LEFT JOIN recreated d ON d.history = e.history AND d.topic = e.topic
        WHERE e.kind = 'final-read' AND e.client IS NOT NULL AND d.topic IS NULL
        GROUP BY e.history, e.topic, e.partition, e.client
        """,
        kept=True,
    ),
    # The record of each key that lies highest, where a last look was taken.
    "latest_of_keys": Relation(
        """
        SELECT w.history, w.topic, w.partition, w.client, w.log_end, w.record_key, w.log_offset, w.value, w.op,
            w.outcome, w.durable
        FROM (
            SELECT s.history, s.topic, s.partition, f.client, f.log_end, s.record_key, s.log_offset, s.value, s.op,
                s.outcome, s.tombstone, p.durable, ROW_NUMBER() OVER (
                    PARTITION BY s.history, s.topic, s.partition, s.record_key, f.client
                    ORDER BY s.log_offset DESC NULLS LAST, s.op NULLS LAST) AS number
            FROM sent s
            JOIN last_reads f ON f.history = s.history AND f.topic = s.topic AND f.partition = s.partition
            JOIN producers p ON p.history = s.history AND p.client = s.client
            LEFT JOIN txns t ON t.history = s.history AND t.txn = s.txn
            WHERE s.record_key IS NOT NULL AND s.log_offset IS NOT NULL AND s.outcome = 'ok'
                AND (s.txn IS NULL OR t.state = 'committed')
        ) w
        WHERE w.number = 1 AND NOT w.tombstone
            AND NOT EXISTS (SELECT 1 FROM sent u WHERE u.history = w.history AND u.topic = w.topic
                AND u.record_key = w.record_key AND (u.outcome = 'info' OR u.log_offset IS NULL)
                AND u.outcome <> 'fail')
        """,
        kept=True,
    ),
}

"""What the broker owes to readers, and what they passed by."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # Below this offset the log was cut on request or by retention: what is missing there is missing by right.
    "trimmed": Relation(
        """
        SELECT o.history, o.topic, o.partition,
            MAX(CASE WHEN o.kind = 'delete_records' AND o.outcome <> 'fail' AND o.base_offset > COALESCE(o.log_start, 0)
                     THEN o.base_offset ELSE o.log_start END) AS low
        FROM operations o
        WHERE o.log_start > 0 OR o.kind = 'delete_records'
        GROUP BY o.history, o.topic, o.partition
        """,
        kept=True,
    ),
    # Where a stream jumped: everything strictly between prev_offset and log_offset was passed by.
    "jumps": Relation(
        """
        SELECT r.history, r.topic, r.partition, r.op, r.client, r.stream, r.place, r.prev_offset, r.log_offset, r.value,
            c.committed_only
        FROM records_to_check r
        JOIN readers c ON c.history = r.history AND c.client = r.client
        JOIN histories h ON h.history = r.history AND (h.nodes = 1 OR NOT h.unclean_election)
        LEFT JOIN recreated d ON d.history = r.history AND d.topic = r.topic
        WHERE r.side = 'seen' AND r.value IS NOT NULL AND r.log_offset - 1 > r.prev_offset AND d.topic IS NULL
        """,
        kept=True,
    ),
    "read_to": Relation(
        """
        SELECT r.history, r.topic, r.partition, MAX(r.high) AS highest FROM block_fingerprints r
        LEFT JOIN recreated d ON d.history = r.history AND d.topic = r.topic
        WHERE r.side = 'seen' AND r.block >= 0 AND d.topic IS NULL
        GROUP BY r.history, r.topic, r.partition
        """,
        kept=True,
    ),
    "final_reads": Relation("""
        SELECT e.history, e.topic, e.partition, MAX(e.log_offset) AS log_end FROM events e
        WHERE e.kind = 'final-read' GROUP BY e.history, e.topic, e.partition
        """),
    # Acknowledged, read by nobody.
    "unread": Relation(
        """
        SELECT s.history, s.topic, s.partition, s.log_offset, s.value, s.op, s.client, s.txn
        FROM suspect_sent s
        WHERE s.outcome = 'ok'
            AND NOT EXISTS (SELECT 1 FROM suspect_seen r WHERE r.history = s.history AND r.value = s.value)
        """,
        kept=True,
    ),
    # ... although the broker owes it to every reader: durable, its transaction committed, not cut, not compacted away.
    "records_owed": Relation(
        """
        SELECT u.history, u.topic, u.partition, u.log_offset, u.value, u.op
        FROM unread u
        JOIN producers p ON p.history = u.history AND p.client = u.client AND p.durable
        LEFT JOIN txns t ON t.history = u.history AND t.txn = u.txn
        LEFT JOIN topics k ON k.history = u.history AND k.topic = u.topic
        LEFT JOIN trimmed b ON b.history = u.history AND b.topic = u.topic AND b.partition = u.partition
        WHERE (u.txn IS NULL OR t.state = 'committed')
            AND NOT COALESCE(k.compacted, FALSE)
            AND (u.log_offset IS NULL OR b.low IS NULL OR u.log_offset >= b.low)
        """,
        kept=True,
    ),
    # Stretches of the log that somebody passed by: jumps of streams, and the rest of a log that was read to its end.
    "skipped_ranges": Relation("""
        SELECT j.history, j.topic, j.partition, j.prev_offset, j.log_offset, j.op FROM jumps j
        UNION ALL
        SELECT f.history, f.topic, f.partition, COALESCE(h.highest, -1), f.log_end, NULL
        FROM final_reads f
        LEFT JOIN read_to h ON h.history = f.history AND h.topic = f.topic AND h.partition = f.partition
        WHERE f.log_end > COALESCE(h.highest, -1) + 1
        """),
    # For each record owed, how far the passes that begin below it reach: beyond it means that it was passed by.
    "passed_records": Relation(
        """
        SELECT w.history, w.topic, w.partition, w.log_offset, w.value, w.op, w.reach
        FROM (
            SELECT x.history, x.topic, x.partition, x.log_offset, x.value, x.op, x.is_owed,
                MAX(x.pass_end) OVER (
                    PARTITION BY x.history, x.topic, x.partition
                    ORDER BY x.log_offset NULLS LAST, x.is_owed DESC NULLS LAST
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS reach
            FROM (
                SELECT o.history, o.topic, o.partition, o.log_offset, o.value, o.op, 1 AS is_owed,
                    CAST(NULL AS BIGINT) AS pass_end
                FROM records_owed o WHERE o.log_offset IS NOT NULL
                UNION ALL
                SELECT p.history, p.topic, p.partition, p.prev_offset, NULL, NULL, 0, p.log_offset FROM skipped_ranges p
            ) x
        ) w
        WHERE w.is_owed = 1 AND w.reach > w.log_offset
        """,
        kept=True,
    ),
    # What was seen in partitions where a stream jumped at all. committed: every reader must be shown it.
    "visible": Relation("""
        SELECT r.history, r.topic, r.partition, r.log_offset, r.value, MIN(r.op) AS op,
            MIN(CASE WHEN u.topic IS NULL AND (w.txn IS NULL OR t.state = 'committed') THEN 1 ELSE 0 END) = 1
                AS committed
        FROM seen r
        JOIN (SELECT DISTINCT j.history, j.topic, j.partition FROM jumps j) j
            ON j.history = r.history AND j.topic = r.topic AND j.partition = r.partition
        LEFT JOIN written_in_txn w ON w.history = r.history AND w.value = r.value
        LEFT JOIN txns t ON t.history = w.history AND t.txn = w.txn
        LEFT JOIN (SELECT DISTINCT n.history, n.topic, n.partition, n.log_offset, n.value FROM unsent_values n) u
            ON u.history = r.history AND u.topic = r.topic AND u.partition = r.partition
            AND u.log_offset = r.log_offset AND u.value = r.value
        LEFT JOIN topics k ON k.history = r.history AND k.topic = r.topic
        LEFT JOIN trimmed b ON b.history = r.history AND b.topic = r.topic AND b.partition = r.partition
        WHERE NOT COALESCE(k.compacted, FALSE) AND (b.low IS NULL OR r.log_offset >= b.low)
        GROUP BY r.history, r.topic, r.partition, r.log_offset, r.value
        """),
    # Records that somebody saw inside a stretch that some stream jumped over.
    "skippable": Relation(
        """
        SELECT DISTINCT w.history, w.topic, w.partition, w.log_offset, w.value, w.op, w.committed
        FROM (
            SELECT x.history, x.topic, x.partition, x.log_offset, x.value, x.op, x.committed, x.kind,
                MAX(x.any_end) OVER (
                    PARTITION BY x.history, x.topic, x.partition ORDER BY x.log_offset NULLS LAST, x.kind NULLS LAST
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS any_reach,
                MAX(x.plain_end) OVER (
                    PARTITION BY x.history, x.topic, x.partition ORDER BY x.log_offset NULLS LAST, x.kind NULLS LAST
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS plain_reach
            FROM (
                SELECT v.history, v.topic, v.partition, v.log_offset, v.value, v.op, v.committed, 0 AS kind,
                    CAST(NULL AS BIGINT) AS any_end, CAST(NULL AS BIGINT) AS plain_end
                FROM visible v
                UNION ALL
                SELECT j.history, j.topic, j.partition, j.prev_offset, NULL, NULL, FALSE, 1, j.log_offset,
                    CASE WHEN j.committed_only THEN NULL ELSE j.log_offset END
                FROM jumps j
            ) x
        ) w
        WHERE w.kind = 0 AND ((w.committed AND w.any_reach > w.log_offset) OR w.plain_reach > w.log_offset)
        """,
        kept=True,
    ),
}

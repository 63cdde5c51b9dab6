"""The log as its batches show it: producers' sequences, leader epochs, transaction markers."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # What readers were handed, batch by batch. Compacted topics are left out: cleaning empties batches.
    "views": Relation(
        """
        SELECT b.history, b.topic, b.partition, b.base_offset, b.last_offset, b.leader_epoch, b.producer_id,
            b.producer_epoch, b.base_sequence, CASE WHEN b.transactional THEN 1 ELSE 0 END AS transactional, b.control,
            b.coordinator_epoch, b.client, b.node
        FROM batches b
        LEFT JOIN recreated d ON d.history = b.history AND d.topic = b.topic
        LEFT JOIN topics k ON k.history = b.history AND k.topic = b.topic
        WHERE b.seen_at <> 'produce' AND b.base_offset >= 0 AND d.topic IS NULL AND NOT COALESCE(k.compacted, FALSE)
        """,
        kept=True,
    ),
    # The same once for each place in the log. hole: how many stretches below it nobody was handed a batch of.
    "logged_batches": Relation(
        """
        SELECT w.*, SUM(CASE WHEN w.base_offset > w.covered + 1 THEN 1 ELSE 0 END) OVER (
            PARTITION BY w.history, w.topic, w.partition ORDER BY w.base_offset NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS hole
        FROM (
            SELECT x.*, MAX(x.last_offset) OVER (
                PARTITION BY x.history, x.topic, x.partition ORDER BY x.base_offset NULLS LAST
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered
            FROM (
                SELECT v.history, v.topic, v.partition, v.base_offset, MAX(v.last_offset) AS last_offset,
                    MAX(v.leader_epoch) AS leader_epoch, MAX(v.producer_id) AS producer_id,
                    MAX(v.producer_epoch) AS producer_epoch, MAX(v.base_sequence) AS base_sequence,
                    MAX(v.transactional) AS transactional, MAX(v.control) AS control,
                    MAX(v.coordinator_epoch) AS coordinator_epoch
                FROM views v
                GROUP BY v.history, v.topic, v.partition, v.base_offset
            ) x
        ) w
        """,
        kept=True,
    ),
    # Each producer's batches of data in one partition, each with the one before it.
    "chains": Relation(
        """
        SELECT b.history, b.topic, b.partition, b.base_offset, b.last_offset, b.producer_id, b.producer_epoch,
            b.base_sequence, b.hole,
            LAG(b.base_offset) OVER (PARTITION BY b.history, b.topic, b.partition, b.producer_id
                ORDER BY b.base_offset NULLS LAST) AS before_offset,
            LAG(b.producer_epoch) OVER (PARTITION BY b.history, b.topic, b.partition, b.producer_id
                ORDER BY b.base_offset NULLS LAST) AS before_epoch,
            LAG(b.base_sequence + b.last_offset - b.base_offset) OVER (
                PARTITION BY b.history, b.topic, b.partition, b.producer_id
                ORDER BY b.base_offset NULLS LAST) AS before_sequence,
            LAG(b.hole) OVER (PARTITION BY b.history, b.topic, b.partition, b.producer_id
                ORDER BY b.base_offset NULLS LAST) AS before_hole
        FROM logged_batches b
        WHERE b.producer_id >= 0 AND b.base_sequence >= 0 AND b.control IS NULL
        """,
        kept=True,
    ),
    # Sends that were stored where a batch begins: who to name for it.
    "senders_at": Relation("""
        SELECT s.history, s.topic, s.partition, s.log_offset, MIN(s.op) AS op, MIN(s.value) AS value
        FROM sent s WHERE s.log_offset IS NOT NULL AND s.outcome = 'ok'
        GROUP BY s.history, s.topic, s.partition, s.log_offset
        """),
    # Appends as links passed them on and durable producers were told of them.
    "told_appends": Relation("""
        SELECT b.history, b.topic, b.partition, b.producer_id, b.producer_epoch, b.base_sequence,
            b.last_offset - b.base_offset AS span, MIN(b.base_offset) AS offset_a, MAX(b.base_offset) AS offset_b
        FROM batches b
        JOIN producers p ON p.history = b.history AND p.client = b.client AND p.durable
        LEFT JOIN recreated d ON d.history = b.history AND d.topic = b.topic
        WHERE b.seen_at = 'produce' AND b.error = 0 AND b.base_offset >= 0 AND b.producer_id >= 0
            AND b.base_sequence >= 0 AND d.topic IS NULL
        GROUP BY b.history, b.topic, b.partition, b.producer_id, b.producer_epoch, b.base_sequence,
            b.last_offset - b.base_offset
        """),
    # Where the records of each transaction lie highest in each partition.
    "txn_tops": Relation(
        """
        SELECT x.history, x.txn, x.topic, x.partition, MAX(x.log_offset) AS log_offset, MIN(x.op) AS op
        FROM (
            SELECT s.history, s.txn, s.topic, s.partition, s.log_offset, s.op FROM sent s
            WHERE s.txn IS NOT NULL AND s.outcome = 'ok' AND s.log_offset IS NOT NULL
            UNION ALL
            SELECT w.history, w.txn, r.topic, r.partition, r.log_offset, w.op FROM written_in_txn w
            JOIN suspect_seen r ON r.history = w.history AND r.value = w.value
            WHERE w.outcome <> 'fail'
        ) x
        GROUP BY x.history, x.txn, x.topic, x.partition
        """,
        kept=True,
    ),
    # The producer that wrote those records: the last transactional batch that begins at or below them.
    "txn_producers": Relation("""
        SELECT w.history, w.txn, w.topic, w.partition, w.log_offset, w.op, b.producer_id
        FROM (
            SELECT x.history, x.topic, x.partition, x.log_offset, x.txn, x.op, MAX(x.base_offset) OVER (
                PARTITION BY x.history, x.topic, x.partition ORDER BY x.log_offset NULLS LAST, x.kind NULLS LAST
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS base_offset
            FROM (
                SELECT t.history, t.topic, t.partition, t.log_offset, t.txn, t.op, 1 AS kind,
                    CAST(NULL AS BIGINT) AS base_offset
                FROM txn_tops t
                UNION ALL
                SELECT b.history, b.topic, b.partition, b.base_offset, NULL, NULL, 0, b.base_offset
                FROM logged_batches b
                WHERE b.control IS NULL
            ) x
        ) w
        JOIN logged_batches b ON b.history = w.history AND b.topic = w.topic AND b.partition = w.partition
            AND b.base_offset = w.base_offset AND b.last_offset >= w.log_offset AND b.transactional = 1
            AND b.control IS NULL
        WHERE w.txn IS NOT NULL
        """),
    # The marker that ended each transaction in each partition: the producer's first one above its records.
    "txn_marks": Relation(
        """
        SELECT w.history, w.txn, w.topic, w.partition, w.log_offset, w.op, w.marker, b.control
        FROM (
            SELECT x.history, x.topic, x.partition, x.producer_id, x.log_offset, x.txn, x.op, MIN(x.marker) OVER (
                PARTITION BY x.history, x.topic, x.partition, x.producer_id
                ORDER BY x.log_offset NULLS LAST, x.kind NULLS LAST
                ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS marker
            FROM (
                SELECT t.history, t.topic, t.partition, t.producer_id, t.log_offset, t.txn, t.op, 1 AS kind,
                    CAST(NULL AS BIGINT) AS marker
                FROM txn_producers t
                UNION ALL
                SELECT b.history, b.topic, b.partition, b.producer_id, b.base_offset, NULL, NULL, 0, b.base_offset
                FROM logged_batches b WHERE b.control IN ('COMMIT', 'ABORT')
            ) x
        ) w
        JOIN logged_batches b ON b.history = w.history AND b.topic = w.topic AND b.partition = w.partition
            AND b.base_offset = w.marker
        WHERE w.txn IS NOT NULL
        """,
        kept=True,
    ),
}

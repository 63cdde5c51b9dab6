"""What lies at which offset, and who says so."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # Records seen that nobody sent to that partition, or that are not intact: few or none.
    "unsent_values": Relation(
        """
        SELECT r.history, r.topic, r.partition, r.log_offset, r.value, r.op, r.intact
        FROM suspect_seen r
        WHERE NOT r.intact
            OR NOT EXISTS (SELECT 1 FROM suspect_sent s WHERE s.history = r.history AND s.value = r.value
                AND s.topic = r.topic AND s.partition = r.partition)
        UNION ALL
        SELECT r.history, r.topic, r.partition, r.log_offset, r.value, r.op, r.intact
        FROM records_to_check r
        LEFT JOIN recreated d ON d.history = r.history AND d.topic = r.topic
        WHERE r.side = 'seen' AND r.value IS NULL AND r.log_offset IS NOT NULL AND d.topic IS NULL
        """,
        kept=True,
    ),
    # Where each record of a producer that must keep its order lies: as acknowledged, else as first seen.
    "placed": Relation("""
        SELECT x.history, x.client, x.topic, x.partition, x.log_offset, x.value, x.op, x.place, p.raw
        FROM (
            SELECT s.history, s.client, s.topic, s.partition, s.log_offset, s.value, s.op, s.place, s.outcome
            FROM sent s WHERE s.log_offset IS NOT NULL AND s.outcome = 'ok'
            UNION ALL
            SELECT s.history, s.client, r.topic, r.partition, MIN(r.log_offset), s.value, s.op, s.place, s.outcome
            FROM suspect_sent s JOIN suspect_seen r ON r.history = s.history AND r.value = s.value
            WHERE s.log_offset IS NULL OR s.outcome <> 'ok'
            GROUP BY s.history, s.client, r.topic, r.partition, s.value, s.op, s.place, s.outcome
        ) x
        JOIN producers p ON p.history = x.history AND p.client = x.client
            AND (p.idempotent OR (p.single_attempt AND x.outcome = 'ok'))
        """),
    # Who said which value is at which offset. epoch: the leader epoch where an unclean election may start the log anew.
    "statements": Relation("""
        SELECT r.history, r.topic, r.partition, r.log_offset, r.value, r.op, r.side,
            CASE WHEN h.unclean_election THEN COALESCE(r.leader_epoch, -1) ELSE -1 END AS epoch
        FROM seen r JOIN histories h ON h.history = r.history
        UNION ALL
        SELECT s.history, s.topic, s.partition, s.log_offset, s.value, s.op, s.side,
            CASE WHEN h.unclean_election THEN COALESCE(s.leader_epoch, -1) ELSE -1 END AS epoch
        FROM sent s
        JOIN histories h ON h.history = s.history
        JOIN producers p ON p.history = s.history AND p.client = s.client AND p.durable
        WHERE s.outcome = 'ok' AND s.log_offset IS NOT NULL
        """),
    # Offsets about which two statements differ: few or none, so that the checks look closely at those alone.
    "contested": Relation(
        """
        SELECT x.history, x.topic, x.partition, x.log_offset
        FROM (
            SELECT s.history, s.topic, s.partition, s.log_offset, s.value FROM records_to_check s
            WHERE s.side = 'sent' AND s.suspected AND s.log_offset IS NOT NULL
            UNION ALL
            SELECT r.history, r.topic, r.partition, r.log_offset, r.value
            FROM suspect_seen r
        ) x
        GROUP BY x.history, x.topic, x.partition, x.log_offset
        HAVING MIN(x.value) <> MAX(x.value)
        """,
        kept=True,
    ),
    # Which producer wrote what is stored at which offsets, as the wire showed it.
    "stored": Relation("""
        SELECT DISTINCT b.history, b.topic, b.partition, b.base_offset, b.last_offset,
            b.producer_id, b.producer_epoch, b.base_sequence
        FROM batches b
        WHERE b.producer_id >= 0 AND b.base_sequence >= 0 AND b.control IS NULL AND b.seen_at <> 'produce'
        """),
    # When a client first asked a node for each append without a sequence number that was acknowledged.
    "asked": Relation("""
        SELECT b.history, b.client, b.topic, b.partition, b.node, b.base_offset, b.last_offset,
            MIN(b.request_ns) AS request_ns
        FROM batches b
        WHERE b.producer_id < 0 AND b.base_offset >= 0 AND b.seen_at = 'produce' AND COALESCE(b.error, 0) = 0
        GROUP BY b.history, b.client, b.topic, b.partition, b.node, b.base_offset, b.last_offset
        """),
}

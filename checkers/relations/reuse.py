"""What a client did to itself, as the wire shows it."""

from brokertrial.checkers.relations.relation import Relation

RELATIONS = {
    # Sends that were answered for another one. The client asked twice under one producer id, epoch and sequence, with
    # different records; the broker has the first batch and, as it must (KIP-98), takes the second for a retry of it:
    # it answers with the first one's offset. The log shows the first one's records there, and they are this client's.
    "taken_for_another": Relation("""
        SELECT DISTINCT s.history, s.op
        FROM batches b
        JOIN batches e ON e.history = b.history AND e.topic = b.topic AND e.partition = b.partition
            AND e.client = b.client AND e.producer_id = b.producer_id AND e.producer_epoch = b.producer_epoch
            AND e.base_sequence = b.base_sequence AND e.seen_at = 'produce' AND e.request_ns < b.request_ns
        JOIN batches l ON l.history = b.history AND l.topic = b.topic AND l.partition = b.partition
            AND l.base_offset = b.base_offset AND l.producer_id = b.producer_id
            AND l.producer_epoch = b.producer_epoch AND l.base_sequence = b.base_sequence AND l.seen_at <> 'produce'
        JOIN sent s ON s.history = b.history AND s.topic = b.topic AND s.partition = b.partition
            AND s.client = b.client AND s.outcome = 'ok' AND s.log_offset BETWEEN b.base_offset AND b.last_offset
        JOIN seen r ON r.history = s.history AND r.topic = s.topic AND r.partition = s.partition
            AND r.log_offset = s.log_offset AND r.value <> s.value
        JOIN sent w ON w.history = r.history AND w.value = r.value AND w.client = s.client
        WHERE b.seen_at = 'produce' AND b.error = 0 AND b.producer_id >= 0
        """),
    # Offsets that only a client library told. It was answered DUPLICATE_SEQUENCE_NUMBER (46) without an offset, and
    # counts on from -1 (librdkafka): -1, 0, 1 ... No answer that the wire showed names them; and the record is there.
    "misreported": Relation("""
        SELECT DISTINCT s.history, s.op
        FROM batches b
        JOIN sent s ON s.history = b.history AND s.topic = b.topic AND s.partition = b.partition
            AND s.client = b.client AND s.outcome = 'ok' AND s.log_offset BETWEEN 0 AND b.last_offset
        JOIN clients c ON c.history = s.history AND c.client = s.client AND c.library <> 'wire'
        JOIN seen r ON r.history = s.history AND r.value = s.value
        WHERE b.seen_at = 'produce' AND b.error = 46 AND b.base_offset < 0
            AND NOT EXISTS (SELECT 1 FROM batches g WHERE g.history = s.history AND g.topic = s.topic
                AND g.partition = s.partition AND g.client = s.client AND g.seen_at = 'produce' AND g.error = 0
                AND g.base_offset <= s.log_offset AND g.last_offset >= s.log_offset)
        """),
}

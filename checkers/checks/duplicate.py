"""duplicate: a value that was sent once lies in the log twice.

    sent     a   b              by an idempotent producer
    offset   0   1   2
    read     a   b   a          -> a is a duplicate (offsets 0 and 2)

Reading one offset twice is no duplicate. Legal, and not reported: a producer without idempotence that retries (or that
a fault may have made retry); a value that the workload itself sent twice.
Attribution by the wire: the same producer id, epoch and sequence stored twice is the broker's; two different
ones are the client's, which sent the record as a new one.
Source: KIP-98; Kafka documentation, "Message Delivery Semantics".
"""

NAME = "duplicate"
GUARANTEE = "idem-006"
STRENGTH = "integrity"
DECIDES = ("idem-006", "idem-002", "idem-003", "idem-007", "idem-008")
OBSERVES = ("send",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("records.offset", "records.value", "clients.idempotence")
SUBJECT = "SELECT DISTINCT w.history FROM writers w WHERE w.guarded"
OTHERWISE = "no producer was idempotent, so that retries may duplicate"
QUERY = """
    SELECT d.history, d.topic, d.partition, d.offset_a, d.offset_b, d.value AS value_a, s.op AS op_a,
        MIN(CASE WHEN r.log_offset = d.offset_a THEN r.op END) AS op_b,
        MIN(CASE WHEN r.log_offset = d.offset_b THEN r.op END) AS op_c,
        MIN(CASE WHEN p.raw THEN 'broker'
                 WHEN a.producer_id IS NULL OR b.producer_id IS NULL THEN 'unknown'
                 WHEN a.producer_id = b.producer_id AND a.producer_epoch = b.producer_epoch
                     AND a.base_sequence + d.offset_a - a.base_offset = b.base_sequence + d.offset_b - b.base_offset
                     THEN 'broker'
                 ELSE 'client' END) AS attribution
    FROM (
        SELECT r.history, r.topic, r.partition, r.value, MIN(r.log_offset) AS offset_a, MAX(r.log_offset) AS offset_b
        FROM suspect_seen r
        GROUP BY r.history, r.topic, r.partition, r.value
        HAVING MIN(r.log_offset) <> MAX(r.log_offset)
    ) d
    JOIN suspect_seen r ON r.history = d.history AND r.topic = d.topic AND r.partition = d.partition
        AND r.value = d.value
    JOIN suspect_sent s ON s.history = d.history AND s.value = d.value
    JOIN producers p ON p.history = s.history AND p.client = s.client AND p.guarded
    LEFT JOIN stored a ON a.history = d.history AND a.topic = d.topic AND a.partition = d.partition
        AND d.offset_a BETWEEN a.base_offset AND a.last_offset
    LEFT JOIN stored b ON b.history = d.history AND b.topic = d.topic AND b.partition = d.partition
        AND d.offset_b BETWEEN b.base_offset AND b.last_offset
    WHERE NOT EXISTS (SELECT 1 FROM suspect_sent t WHERE t.history = s.history AND t.value = s.value AND t.op <> s.op)
    GROUP BY d.history, d.topic, d.partition, d.offset_a, d.offset_b, d.value, s.op
    """
SENTENCE = "Value {value_a} was sent once, but {topic}-{partition} holds it at offset {offset_a} and at {offset_b}."

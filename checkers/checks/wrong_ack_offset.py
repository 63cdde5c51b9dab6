"""wrong-ack-offset: an acknowledgement names an offset at which no consumer finds the record.

    send a   acknowledged at offset 9
    read     a at offset 5                  -> the acknowledgement named the wrong offset

Only for producers whose records cannot be stored twice: else the reader may have found another copy.
Source: Kafka protocol guide, Produce response, base_offset; Jepsen's Bufstream report (spurious zero offsets).
"""

NAME = "wrong-ack-offset"
GUARANTEE = "prod-001"
STRENGTH = "integrity"
OBSERVES = ("send",)
STANDS_ALONE = True
NEEDS = ("records.offset", "records.value", "records.outcome", "clients.acks", "clients.idempotence")
SUBJECT = "SELECT DISTINCT w.history FROM writers w WHERE w.durable AND w.guarded AND w.told_offsets"
OTHERWISE = "no idempotent producer got an offset from all in-sync replicas"
QUERY = """
    SELECT m.history, m.topic, m.partition, m.offset_a, m.offset_b, m.value AS value_a, m.op_a, m.op_b,
        CASE WHEN p.raw OR p.single_attempt THEN 'broker' ELSE 'unknown' END AS attribution
    FROM (
        SELECT s.history, s.topic, s.partition, s.value, s.client, s.op AS op_a, s.log_offset AS offset_a,
            MIN(r.log_offset) AS offset_b, MIN(r.op) AS op_b,
            MAX(CASE WHEN r.log_offset = s.log_offset THEN 1 ELSE 0 END) AS confirmed
        FROM (
            SELECT DISTINCT s.history, s.value FROM suspect_sent s
            JOIN suspect_seen r ON r.history = s.history AND r.value = s.value
            WHERE s.outcome = 'ok' AND s.log_offset <> r.log_offset
        ) d
        JOIN suspect_sent s ON s.history = d.history AND s.value = d.value AND s.outcome = 'ok'
        JOIN suspect_seen r ON r.history = d.history AND r.value = d.value
            AND r.topic = s.topic AND r.partition = s.partition
        GROUP BY s.history, s.topic, s.partition, s.value, s.client, s.op, s.log_offset
    ) m
    JOIN producers p ON p.history = m.history AND p.client = m.client AND p.durable AND p.guarded
    WHERE m.confirmed = 0 AND m.offset_a IS NOT NULL
        AND (SELECT COUNT(*) FROM suspect_sent t WHERE t.history = m.history AND t.value = m.value) = 1
    """
SENTENCE = (
    "Value {value_a} was acknowledged at {topic}-{partition} offset {offset_a}, but every consumer found it "
    "elsewhere, first at {offset_b}."
)

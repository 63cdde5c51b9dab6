"""offset-reuse: two acknowledgements name the same offset for two records.

    send a   acknowledged at offset 7
    send b   acknowledged at offset 7       -> 7 was given twice

Counts for durable producers only, and, where unclean election is allowed, within one leader epoch.
Source: Kafka documentation, design.html#semantics; catalogue ord-006 (no acknowledged offset is reused after a crash).
"""

NAME = "offset-reuse"
GUARANTEE = "ord-006"
STRENGTH = "integrity"
OBSERVES = ("send",)
STANDS_ALONE = True
NEEDS = ("records.offset", "records.value", "records.outcome", "clients.acks")
SUBJECT = "SELECT DISTINCT w.history FROM writers w WHERE w.durable AND w.told_offsets"
OTHERWISE = "no send was acknowledged by all in-sync replicas with an offset"
QUERY = """
    SELECT s.history, s.topic, s.partition, s.log_offset AS offset_a,
        MIN(CASE WHEN s.value = d.low THEN s.value END) AS value_a,
        MIN(CASE WHEN s.value = d.high THEN s.value END) AS value_b,
        MIN(CASE WHEN s.value = d.low THEN s.op END) AS op_a, MIN(CASE WHEN s.value = d.high THEN s.op END) AS op_b
    FROM (
        SELECT s.history, s.topic, s.partition, s.log_offset, s.epoch, MIN(s.value) AS low, MAX(s.value) AS high
        FROM statements s
        JOIN contested c ON c.history = s.history AND c.topic = s.topic AND c.partition = s.partition
            AND c.log_offset = s.log_offset
        WHERE s.side = 'sent'
        GROUP BY s.history, s.topic, s.partition, s.log_offset, s.epoch
        HAVING MIN(s.value) <> MAX(s.value)
    ) d
    JOIN statements s ON s.history = d.history AND s.topic = d.topic AND s.partition = d.partition
        AND s.log_offset = d.log_offset AND s.epoch = d.epoch AND s.value IN (d.low, d.high)
    WHERE s.side = 'sent'
    GROUP BY s.history, s.topic, s.partition, s.log_offset, s.epoch
    """
SENTENCE = (
    "Offset {offset_a} of {topic}-{partition} was acknowledged for value {value_a} and again for value {value_b}."
)

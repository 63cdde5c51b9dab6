"""moved-record: in a compacted topic, a record was found at another offset than before.

    before     k1=a at 0   k2=b at 1   k1=c at 2
    cleaned    k2=b at 0   k1=c at 1                -> b and c were moved down to fill the hole

Cleaning leaves holes: it neither renumbers nor reorders what stays. A value that was sent once has one offset; two
sightings, or a durable acknowledgement and a sighting, that differ are reported with both. Producers that may have sent
it twice (retries without idempotence) are left out: their copies have an offset each.
Source: Kafka documentation, "Log Compaction": messages are never re-ordered, the offset never changes; comp-002.
"""

NAME = "moved-record"
GUARANTEE = "comp-002"
STRENGTH = "order"
OBSERVES = ("send",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("records.offset", "records.value", "clients.acks", "clients.idempotence")
SUBJECT = """
    SELECT DISTINCT r.history FROM found r
    JOIN topics k ON k.history = r.history AND k.topic = r.topic AND k.compacted
    """
OTHERWISE = "no compacted topic was read"
QUERY = """
    SELECT x.history, x.topic, x.partition, x.value AS value_a, MIN(x.log_offset) AS offset_a,
        MAX(x.log_offset) AS offset_b, MIN(s.op) AS op_a, MIN(CASE WHEN x.side = 'seen' THEN x.op END) AS op_b
    FROM (
        SELECT r.history, r.topic, r.partition, r.value, r.log_offset, r.op, 'seen' AS side FROM suspect_seen r
        UNION ALL
        SELECT s.history, s.topic, s.partition, s.value, s.log_offset, s.op, 'sent' FROM suspect_sent s
        JOIN producers p ON p.history = s.history AND p.client = s.client AND p.durable
        WHERE s.outcome = 'ok' AND s.log_offset IS NOT NULL
    ) x
    JOIN topics k ON k.history = x.history AND k.topic = x.topic AND k.compacted
    JOIN suspect_sent s ON s.history = x.history AND s.value = x.value
    JOIN producers p ON p.history = s.history AND p.client = s.client AND p.guarded
    WHERE NOT EXISTS (SELECT 1 FROM suspect_sent t WHERE t.history = s.history AND t.value = s.value AND t.op <> s.op)
    GROUP BY x.history, x.topic, x.partition, x.value
    HAVING MIN(x.log_offset) <> MAX(x.log_offset) AND MAX(CASE WHEN x.side = 'seen' THEN 1 ELSE 0 END) = 1
    """
SENTENCE = "Value {value_a} of {topic}-{partition}, a compacted topic, was at offset {offset_a} and at {offset_b}."

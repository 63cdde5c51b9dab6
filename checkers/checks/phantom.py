"""phantom: a record that was never sent to this partition, or that is not as it was sent.

    sent     a   b
    read     a   b   x          -> x is a phantom
    read     a   b'             -> b' names b as its writer, but its bytes, key, headers or timestamp are not b's

Judged in topics to which this history sent something; a topic that others fill says nothing.
Source: Kafka documentation, "Message format": the CRC guards each batch; a broker stores what it was sent.
"""

NAME = "phantom"
GUARANTEE = "rec-001"
STRENGTH = "integrity"
OBSERVES = ("send",)
HARMS = True
NEEDS = ("records.value", "records.intact")
SUBJECT = "SELECT DISTINCT r.history FROM reading r"
OTHERWISE = "nothing was read"
QUERY = """
    SELECT x.history, x.topic, x.partition, x.log_offset AS offset_a, x.value AS value_a,
        MIN(x.op) AS op_a, MIN(x.sender) AS op_b, MIN(x.why) AS why
    FROM (
        SELECT r.history, r.topic, r.partition, r.log_offset, r.value, r.op, CAST(NULL AS BIGINT) AS sender,
            'was never sent' AS why
        FROM unsent_values r
        WHERE NOT EXISTS (SELECT 1 FROM suspect_sent s WHERE s.history = r.history AND s.value = r.value)
        UNION ALL
        SELECT r.history, r.topic, r.partition, r.log_offset, r.value, r.op, s.op,
            CASE WHEN r.intact THEN 'was sent to another partition' ELSE 'is not as it was sent' END
        FROM unsent_values r JOIN suspect_sent s ON s.history = r.history AND s.value = r.value
        WHERE NOT r.intact
            OR NOT EXISTS (SELECT 1 FROM suspect_sent t WHERE t.history = r.history AND t.value = r.value
                AND t.topic = r.topic AND (t.partition = r.partition OR t.partition < 0))
    ) x
    JOIN sent_to k ON k.history = x.history AND k.topic = x.topic
    GROUP BY x.history, x.topic, x.partition, x.log_offset, x.value
    """
SENTENCE = "The record read at {topic}-{partition} offset {offset_a} (value {value_a}) {why}."

"""phantom: a poll showed a value that was never sent to that key.

    sent        a   b
    poll        a   b   x               -> x is a phantom

Whatever became of the sends and of the poll. Jepsen's checker stops here; a corrupted payload deserves a name.
Source: Kafka documentation, "Message format": a broker stores what it was sent.
"""

NAME = "phantom"
GUARANTEE = "rec-001"
STRENGTH = "integrity"
NEEDS = ("records.value",)
SUBJECT = "SELECT DISTINCT r.history FROM shown r"
OTHERWISE = "nothing was polled"
QUERY = """
    SELECT r.history, r.topic, r.partition, r.value AS value_a, MIN(r.log_offset) AS offset_a, MIN(r.op) AS op_a
    FROM shown r
    LEFT JOIN sent s ON s.history = r.history AND s.topic = r.topic AND s.partition = r.partition
        AND s.value = r.value
    WHERE s.value IS NULL
    GROUP BY r.history, r.topic, r.partition, r.value
    """
SENTENCE = "Operation {op_a} polled from key {topic}, at offset {offset_a}, a value that was never sent there."

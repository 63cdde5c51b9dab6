"""inconsistent-offsets: one offset, two records.

    offset      0   1
    reader 1    a   b
    reader 2    a   c           -> offset 1 held b for one and c for the other

An acknowledgement is a statement too: the broker that said "b is at 1" must not show c there. It counts from durable
producers only (what one leader of several acknowledged alone may be truncated). Two acknowledgements that contradict
each other are `offset-reuse`. After an unclean election, where it is allowed, a new leader epoch may give an offset
again: there the rule holds within one epoch.
Source: Kafka documentation, design.html#semantics ("the offset ... never changes"); Jepsen's kafka workload.
"""

NAME = "inconsistent-offsets"
GUARANTEE = "ord-005"
STRENGTH = "integrity"
DECIDES = ("ord-005", "ord-001", "fetch-002")
OBSERVES = ("send",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("records.offset", "records.value")
SUBJECT = "SELECT DISTINCT r.history FROM reading r"
OTHERWISE = "nothing was read"
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
        GROUP BY s.history, s.topic, s.partition, s.log_offset, s.epoch
        HAVING MIN(s.value) <> MAX(s.value)
            AND (MIN(CASE WHEN s.side = 'seen' THEN s.value END) <> MAX(CASE WHEN s.side = 'seen' THEN s.value END)
                OR (MAX(CASE WHEN s.side = 'seen' THEN 1 ELSE 0 END) = 1
                    AND MIN(CASE WHEN s.side = 'sent' THEN s.value END)
                        = MAX(CASE WHEN s.side = 'sent' THEN s.value END)))
    ) d
    JOIN statements s ON s.history = d.history AND s.topic = d.topic AND s.partition = d.partition
        AND s.log_offset = d.log_offset AND s.epoch = d.epoch AND s.value IN (d.low, d.high)
    GROUP BY s.history, s.topic, s.partition, s.log_offset, s.epoch
    """
SENTENCE = (
    "Offset {offset_a} of {topic}-{partition} holds value {value_a} in operation {op_a} and value {value_b} in "
    "operation {op_b}."
)

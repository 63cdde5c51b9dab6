"""int-nonmonotonic-poll: within one operation, polls went back, or showed a value again.

    one op      c at 3, then a at 1     -> went back
    one op      c at 3, then c at 3     -> again

Whatever became of the operation. A rebalance of the key during it explains everything.
Source: Jepsen's kafka workload, `int-nonmonotonic-poll`; KafkaConsumer javadoc, "Offsets and Consumer Position".
"""

NAME = "int-nonmonotonic-poll"
GUARANTEE = "ord-007"
STRENGTH = "order"
NEEDS = ("records.offset", "records.value", "records.position")
SUBJECT = "SELECT DISTINCT r.history FROM shown r"
OTHERWISE = "nothing was polled"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.op AS op_a, w.before_offset AS offset_a, w.log_offset AS offset_b,
        w.before_value AS value_a, w.value AS value_b, w.version - w.before_version AS delta
    FROM read_steps w WHERE w.version - w.before_version < 1
    """
SENTENCE = "In operation {op_a}, polls of key {topic} went from offset {offset_a} to {offset_b} ({delta} in its log)."

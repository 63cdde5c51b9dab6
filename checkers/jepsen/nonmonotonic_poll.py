"""nonmonotonic-poll: a process began at or before the value with which its last successful poll of a key had ended.

    process 0   a at 1, b at 2, c at 3
    process 0   b at 2                  -> went back

The same comparison as poll-skip, and the same exemptions.
Source: Jepsen's kafka workload, `nonmonotonic-poll`; KafkaConsumer javadoc, "Offsets and Consumer Position".
"""

NAME = "nonmonotonic-poll"
GUARANTEE = "ord-007"
STRENGTH = "order"
NEEDS = ("records.offset", "records.value", "records.position", "records.stream")
SUBJECT = "SELECT DISTINCT r.history FROM shown r"
OTHERWISE = "nothing was polled"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.before_op AS op_a, w.op AS op_b, w.before_offset AS offset_a,
        w.log_offset AS offset_b, w.before_value AS value_a, w.value AS value_b, w.version - w.before_version AS delta,
        CASE WHEN COALESCE(c.mode, 'assign') <> 'subscribe' THEN 1 ELSE 0 END AS judged
    FROM poll_steps w
    JOIN clients c ON c.history = w.history AND c.client = w.client
    WHERE w.version - w.before_version < 1
    """
SENTENCE = (
    "Operation {op_a} polled key {topic} up to offset {offset_a}, and operation {op_b} of the same process went on "
    "at offset {offset_b} ({delta} in its log)."
)

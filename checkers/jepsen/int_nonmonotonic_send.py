"""int-nonmonotonic-send: two sends of one operation to one key lie in the log in another order.

    one op      send c, send a
    log         a at 1, c at 3          -> a lies before c

Whatever became of the operation; the order may be known from other operations' polls alone. Permitted to producers
without idempotence.
Source: Jepsen's kafka workload, `int-nonmonotonic-send`.
"""

NAME = "int-nonmonotonic-send"
GUARANTEE = "ord-003"
STRENGTH = "order"
NEEDS = ("records.offset", "records.value", "records.position")
SUBJECT = "SELECT DISTINCT s.history FROM sent s"
OTHERWISE = "nothing was sent"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.op AS op_a, w.before_value AS value_a, w.value AS value_b,
        x.log_offset AS offset_a, y.log_offset AS offset_b, w.version - w.before_version AS delta,
        CASE WHEN p.idempotent THEN 1 ELSE 0 END AS judged
    FROM send_steps w
    JOIN producers p ON p.history = w.history AND p.client = w.client
    JOIN version_order x ON x.history = w.history AND x.topic = w.topic AND x.partition = w.partition
        AND x.version = w.before_version
    JOIN version_order y ON y.history = w.history AND y.topic = w.topic AND y.partition = w.partition
        AND y.version = w.version
    WHERE w.version - w.before_version < 1
    """
SENTENCE = "Operation {op_a} sent two values to key {topic} that lie at {offset_a} and {offset_b}, in this order."

"""int-send-skip: something else lies in the log between two sends of one operation to one key.

    one op      send a, send c
    log         a at 1, b at 2, c at 3  -> b came between

Never a failure: transactions and producers interleave. It is reported.
Source: Jepsen's kafka workload, `int-send-skip`.
"""

NAME = "int-send-skip"
GUARANTEE = "ord-003"
STRENGTH = "order"
NEEDS = ("records.offset", "records.value", "records.position")
SUBJECT = "SELECT DISTINCT s.history FROM sent s"
OTHERWISE = "nothing was sent"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.op AS op_a,
        MIN(CASE WHEN v.version = w.before_version + 1 THEN v.op END) AS op_b, MIN(v.log_offset) AS offset_a,
        MAX(v.log_offset) AS offset_b, MIN(v.value) AS value_a, COUNT(*) AS skipped, 0 AS judged,
        ARRAY_AGG(v.value) AS listed_values, ARRAY_AGG(v.log_offset) AS offsets, w.before_value, w.value AS after_value
    FROM send_steps w
    JOIN version_order v ON v.history = w.history AND v.topic = w.topic AND v.partition = w.partition
        AND v.version > w.before_version AND v.version < w.version
    WHERE w.version - w.before_version > 1
    GROUP BY w.history, w.topic, w.partition, w.op, w.place, w.before_version, w.version, w.before_value, w.value
    """
SENTENCE = "Between two sends of operation {op_a} to key {topic} lie {skipped} other value(s), the first at {offset_a}."

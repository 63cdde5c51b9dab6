"""int-poll-skip: within one operation, polls passed by a value that is known to lie between two that they showed.

    some poll   b at 2
    one poll    a at 1, d at 4          -> skipped b

Whatever became of the operation. A rebalance of the key during it explains everything. Where only an acknowledgement
that need not last (acks 0 or 1) shows the value, it is reported and not judged.
Source: Jepsen's kafka workload, `int-poll-skip`.
"""

NAME = "int-poll-skip"
GUARANTEE = "ord-007"
STRENGTH = "order"
NEEDS = ("records.offset", "records.value", "records.position")
SUBJECT = "SELECT DISTINCT r.history FROM shown r"
OTHERWISE = "nothing was polled"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.op AS op_a,
        MIN(CASE WHEN v.version = w.before_version + 1 THEN v.op END) AS op_b, MIN(v.log_offset) AS offset_a,
        MAX(v.log_offset) AS offset_b, MIN(v.value) AS value_a, MAX(v.binding) AS judged, COUNT(*) AS skipped,
        ARRAY_AGG(v.value) AS listed_values, ARRAY_AGG(v.log_offset) AS offsets, w.before_value, w.value AS after_value
    FROM read_steps w
    JOIN version_order v ON v.history = w.history AND v.topic = w.topic AND v.partition = w.partition
        AND v.version > w.before_version AND v.version < w.version
    WHERE w.version - w.before_version > 1
    GROUP BY w.history, w.topic, w.partition, w.op, w.place, w.before_version, w.version, w.before_value, w.value
    """
SENTENCE = (
    "Within operation {op_a}, polls of key {topic} passed by {skipped} value(s) that are there: the first at "
    "offset {offset_a}, which operation {op_b} read."
)

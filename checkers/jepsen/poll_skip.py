"""poll-skip: a process went past a value that lies between its last successful poll of a key and its next one.

    process 0   a at 1, b at 2
    process 1   c at 3
    process 0   d at 4                  -> skipped c

The next one counts whatever became of it; only successful ones move the position. An assign or subscribe that does not
name the key forgets it. A poll that showed nothing of the key is silence. Not judged for clients that subscribe: a
rebalance between two polls moves partitions.
Source: Jepsen's kafka workload, `poll-skip`.
"""

NAME = "poll-skip"
GUARANTEE = "ord-007"
STRENGTH = "order"
NEEDS = ("records.offset", "records.value", "records.position", "records.stream")
SUBJECT = "SELECT DISTINCT r.history FROM shown r"
OTHERWISE = "nothing was polled"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.before_op AS op_a, w.op AS op_b,
        MIN(CASE WHEN v.version = w.before_version + 1 THEN v.op END) AS op_c,
        MIN(v.log_offset) AS offset_a, MAX(v.log_offset) AS offset_b, MIN(v.value) AS value_a, COUNT(*) AS skipped,
        ARRAY_AGG(v.value) AS listed_values, ARRAY_AGG(v.log_offset) AS offsets,
        CASE WHEN MAX(v.binding) = 1 AND MIN(COALESCE(c.mode, 'assign')) <> 'subscribe' THEN 1 ELSE 0 END AS judged
    FROM poll_steps w
    JOIN clients c ON c.history = w.history AND c.client = w.client
    JOIN version_order v ON v.history = w.history AND v.topic = w.topic AND v.partition = w.partition
        AND v.version > w.before_version AND v.version < w.version
    WHERE w.version - w.before_version > 1
    GROUP BY w.history, w.topic, w.partition, w.before_op, w.op, w.before_version
    """
SENTENCE = (
    "After operation {op_a} the next poll of key {topic} by its process, operation {op_b}, passed by {skipped} "
    "value(s) that are there: the first at offset {offset_a}, which operation {op_c} read."
)

"""nonmonotonic-send: a process sent to a key, and its next send to it lies at or before the last one in the log.

    process 0   send c at 3, d at 4
    process 0   send a at 1, b at 2     -> a lies before d

What failed for certain is passed over; what is of unknown outcome counts. An assign or subscribe that does not name the
key forgets it, as in Jepsen. Allowed for producers without idempotence, whose retries may reorder.
Source: Jepsen's kafka workload, `nonmonotonic-send`; producer configuration, enable.idempotence.
"""

NAME = "nonmonotonic-send"
GUARANTEE = "ord-003"
STRENGTH = "order"
NEEDS = ("records.offset", "records.value", "records.position", "records.stream")
SUBJECT = "SELECT DISTINCT s.history FROM sent s WHERE s.outcome <> 'fail'"
OTHERWISE = "nothing was sent"
QUERY = """
    SELECT t.history, t.topic, t.partition, a.op AS op_a, b.op AS op_b, a.value AS value_a, b.value AS value_b,
        x.log_offset AS offset_a, y.log_offset AS offset_b, y.version - x.version AS delta,
        CASE WHEN p.idempotent THEN 1 ELSE 0 END AS judged
    FROM send_turns t
    JOIN producers p ON p.history = t.history AND p.client = t.client
    JOIN sent a ON a.history = t.history AND a.client = t.client AND a.topic = t.topic AND a.partition = t.partition
        AND a.place = t.before_place
    JOIN sent b ON b.history = t.history AND b.client = t.client AND b.topic = t.topic AND b.partition = t.partition
        AND b.place = t.first_place
    JOIN version_of u ON u.history = a.history AND u.topic = a.topic AND u.partition = a.partition
        AND u.value = a.value
    JOIN version_of v ON v.history = b.history AND v.topic = b.topic AND v.partition = b.partition
        AND v.value = b.value
    JOIN version_order x ON x.history = u.history AND x.topic = u.topic AND x.partition = u.partition
        AND x.version = u.version
    JOIN version_order y ON y.history = v.history AND y.topic = v.topic AND y.partition = v.partition
        AND y.version = v.version
    WHERE v.version - u.version < 1
    """
SENTENCE = (
    "Operation {op_a} sent to key {topic} before operation {op_b} of the same process did, but they lie at offsets "
    "{offset_a} and {offset_b}."
)

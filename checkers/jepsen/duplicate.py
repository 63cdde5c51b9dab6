"""duplicate: one value lies at two or more offsets of its key.

    send a      acknowledged at 1
    poll        b at 2, a at 3          -> a lies at 1 and at 3

Statements of sends that surely happened and of every poll count, whatever else is claimed of those offsets. Reading one
offset twice is no duplicate. Permitted to producers without idempotence, and where the workload itself sent the value
as many times as it is there.
Source: Jepsen's kafka workload, `duplicate`; KIP-98.
"""

NAME = "duplicate"
GUARANTEE = "idem-006"
STRENGTH = "integrity"
NEEDS = ("records.offset", "records.value")
SUBJECT = "SELECT DISTINCT x.history FROM raw_log x"
OTHERWISE = "no value is known with its offset"
QUERY = """
    SELECT d.history, d.topic, d.partition, d.value AS value_a, d.offset_a, d.offset_b, d.offsets, d.copies,
        MIN(CASE WHEN x.log_offset = d.offset_a THEN x.op END) AS op_a,
        MIN(CASE WHEN x.log_offset = d.offset_b THEN x.op END) AS op_b,
        CASE WHEN d.copies <= COALESCE(s.sends, 0) OR s.idempotent = 0 THEN 0 ELSE 1 END AS judged
    FROM (
        SELECT x.history, x.topic, x.partition, x.value, MIN(x.log_offset) AS offset_a, MAX(x.log_offset) AS offset_b,
            COUNT(*) AS copies, ARRAY_AGG(x.log_offset) AS offsets
        FROM raw_log x
        GROUP BY x.history, x.topic, x.partition, x.value
        HAVING COUNT(*) > 1
    ) d
    JOIN raw_log x ON x.history = d.history AND x.topic = d.topic AND x.partition = d.partition AND x.value = d.value
    LEFT JOIN (
        SELECT s.history, s.topic, s.partition, s.value, COUNT(*) AS sends,
            MIN(CASE WHEN p.idempotent THEN 1 ELSE 0 END) AS idempotent
        FROM sent s
        JOIN producers p ON p.history = s.history AND p.client = s.client
        WHERE s.outcome <> 'fail'
        GROUP BY s.history, s.topic, s.partition, s.value
    ) s ON s.history = d.history AND s.topic = d.topic AND s.partition = d.partition AND s.value = d.value
    GROUP BY d.history, d.topic, d.partition, d.value, d.offset_a, d.offset_b, d.offsets, d.copies, s.sends,
        s.idempotent
    """
SENTENCE = (
    "One value of key {topic} lies at {copies} offsets, among them {offset_a} (operation {op_a}) "
    "and {offset_b} (operation {op_b})."
)

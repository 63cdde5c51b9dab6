"""inconsistent-offsets: one offset of a key holds two or more values.

    send a      acknowledged at 7
    send b      acknowledged at 7       -> two values at 7
    poll        c at 7                  -> and a third

Sends of unknown outcome count once a successful poll has shown one of their values; every poll counts. What a leader
acknowledged alone (acks 0 or 1) may be replaced: such a claim is reported, and judged against polls only.
Source: Jepsen's kafka workload, `inconsistent-offsets`; Kafka documentation, design.html#semantics.
"""

NAME = "inconsistent-offsets"
GUARANTEE = "ord-005"
STRENGTH = "integrity"
NEEDS = ("records.offset", "records.value")
SUBJECT = "SELECT DISTINCT x.history FROM raw_log x"
OTHERWISE = "no value is known with its offset"
QUERY = """
    SELECT d.history, d.topic, d.partition, d.log_offset AS offset_a, d.low AS value_a, d.high AS value_b,
        d.listed_values, d.claims, v.version,
        MIN(CASE WHEN x.value = d.low THEN x.op END) AS op_a, MIN(CASE WHEN x.value = d.high THEN x.op END) AS op_b,
        CASE WHEN d.binding > 1 THEN 1 ELSE 0 END AS judged
    FROM (
        SELECT x.history, x.topic, x.partition, x.log_offset, MIN(x.value) AS low, MAX(x.value) AS high,
            COUNT(*) AS claims, SUM(x.binding) AS binding, ARRAY_AGG(x.value) AS listed_values
        FROM raw_log x
        GROUP BY x.history, x.topic, x.partition, x.log_offset
        HAVING COUNT(*) > 1
    ) d
    JOIN raw_log x ON x.history = d.history AND x.topic = d.topic AND x.partition = d.partition
        AND x.log_offset = d.log_offset
    JOIN version_order v ON v.history = d.history AND v.topic = d.topic AND v.partition = d.partition
        AND v.log_offset = d.log_offset
    GROUP BY d.history, d.topic, d.partition, d.log_offset, d.low, d.high, d.listed_values, d.claims, d.binding,
        v.version
    """
SENTENCE = (
    "Offset {offset_a} of key {topic} (the {version}. value of its log, from 0) holds {claims} different values: "
    "operation {op_a} says one, operation {op_b} another."
)

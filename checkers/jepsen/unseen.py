"""unseen: an acknowledged value that no successful poll ever showed.

    send a      ok
    poll        nothing, to the end     -> a is unseen

Lost and very late look alike here; that is why such a test ends with long final reads. Permitted where not all in-sync
replicas had acknowledged it.
Source: Jepsen's kafka workload, `unseen`.
"""

NAME = "unseen"
GUARANTEE = "prod-002"
STRENGTH = "durability"
NEEDS = ("records.value", "records.outcome")
SUBJECT = "SELECT DISTINCT s.history FROM sent s WHERE s.outcome = 'ok'"
OTHERWISE = "no send was acknowledged"
QUERY = """
    SELECT s.history, s.topic, s.partition, s.value AS value_a, MIN(s.log_offset) AS offset_a, MIN(s.op) AS op_a,
        MAX(CASE WHEN p.durable THEN 1 ELSE 0 END) AS judged
    FROM sent s
    JOIN producers p ON p.history = s.history AND p.client = s.client
    LEFT JOIN shown_ok r ON r.history = s.history AND r.topic = s.topic AND r.partition = s.partition
        AND r.value = s.value
    WHERE s.outcome = 'ok' AND r.value IS NULL
    GROUP BY s.history, s.topic, s.partition, s.value
    """
SENTENCE = "What operation {op_a} wrote to key {topic} was acknowledged, and no successful poll ever showed it."

"""G1a (aborted read): a successful poll showed a value whose send had failed for certain.

    txn [send a]        fail
    poll                a               -> an aborted read

Only what no other operation sent as well. Readers at read_uncommitted may see what a transaction aborted; what a plain
send was refused for certain, no poll may.
Source: Adya's G1a; Jepsen's kafka workload, `G1a`; KIP-98.
"""

NAME = "G1a"
GUARANTEE = "txn-002"
STRENGTH = "integrity"
NEEDS = ("records.value", "records.outcome")
SUBJECT = "SELECT DISTINCT s.history FROM sent s WHERE s.outcome = 'fail'"
OTHERWISE = "no send failed for certain"
QUERY = """
    SELECT r.history, r.topic, r.partition, MIN(r.log_offset) AS offset_a, r.value AS value_a, f.op AS op_a,
        MIN(r.op) AS op_b,
        MAX(CASE WHEN f.plain = 1 OR c.committed_only THEN 1 ELSE 0 END) AS judged
    FROM (
        SELECT s.history, s.topic, s.partition, s.value, MIN(s.op) AS op,
            MAX(CASE WHEN o.kind = 'send' AND o.txn IS NULL THEN 1 ELSE 0 END) AS plain
        FROM sent s
        JOIN operations o ON o.history = s.history AND o.op = s.op AND o.topic = s.topic AND o.partition = s.partition
        GROUP BY s.history, s.topic, s.partition, s.value
        HAVING MIN(CASE WHEN s.outcome = 'fail' THEN 1 ELSE 0 END) = 1
    ) f
    JOIN shown r ON r.history = f.history AND r.topic = f.topic AND r.partition = f.partition AND r.value = f.value
        AND r.outcome = 'ok'
    JOIN readers c ON c.history = r.history AND c.client = r.client
    GROUP BY r.history, r.topic, r.partition, r.value, f.op
    """
SENTENCE = "Operation {op_a} failed for certain, but operation {op_b} polled what it had sent to key {topic}."

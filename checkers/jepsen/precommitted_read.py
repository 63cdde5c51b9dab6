"""precommitted-read: an operation polled what it had itself sent, before it could have committed.

    txn [send a to x, poll]     x: a    -> read before its commit

Legal in most databases, not for consumers at read_committed, whose polls stand outside the transaction. Whatever became
of the operation: a poll never shows what is not committed.
Source: Jepsen's kafka workload, `precommitted-read`; KIP-98, isolation.level.
"""

NAME = "precommitted-read"
GUARANTEE = "txn-004"
STRENGTH = "integrity"
NEEDS = ("records.value", "clients.isolation")
SUBJECT = "SELECT DISTINCT r.history FROM shown r"
OTHERWISE = "nothing was polled"
QUERY = """
    SELECT r.history, r.topic, r.partition, r.op AS op_a, MIN(r.value) AS value_a, MIN(r.log_offset) AS offset_a,
        MAX(CASE WHEN c.committed_only THEN 1 ELSE 0 END) AS judged
    FROM sent s
    JOIN shown r ON r.history = s.history AND r.op = s.op AND r.topic = s.topic AND r.partition = s.partition
        AND r.value = s.value
    JOIN readers c ON c.history = r.history AND c.client = r.client
    GROUP BY r.history, r.topic, r.partition, r.op
    """
SENTENCE = "Operation {op_a} polled from key {topic} what it had itself sent, before it could have been committed."

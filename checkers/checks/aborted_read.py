"""aborted-read (G1a): a record that certainly was not written, or whose transaction was not committed, was read.

    begin, send a, abort        ok
    read_committed reader       a           -> aborted read
    send b                      fail
    any reader                  b           -> aborted read

A reader at read_uncommitted may see what a transaction aborted; no reader may see what a definite error refused.
A transaction without an EndTxn(commit) counts like an aborted one. Unknown outcomes are no evidence.
Source: Adya's G1a; KIP-98, isolation.level in the consumer configuration.
"""

NAME = "aborted-read"
GUARANTEE = "txn-002"
STRENGTH = "integrity"
OBSERVES = ("abort_txn",)
HARMS = True
NEEDS = ("records.value", "records.outcome", "records.txn", "clients.isolation")
SUBJECT = """
    SELECT w.history FROM writers w WHERE w.refused
    UNION SELECT t.history FROM txns t WHERE t.state IN ('aborted', 'open')
    """
OTHERWISE = "no send failed for certain and no transaction was aborted"
QUERY = """
    SELECT r.history, r.topic, r.partition, r.log_offset AS offset_a, r.value AS value_a, n.op AS op_a,
        MIN(r.op) AS op_b, n.ended_by AS op_c,
        CASE WHEN n.refused = 1 THEN 'was refused for certain'
             WHEN n.state = 'aborted' THEN 'belongs to a transaction that was aborted'
             ELSE 'belongs to a transaction for which no commit was ever asked' END AS why,
        CASE WHEN n.refused = 1 OR n.state = 'aborted' THEN 1 ELSE 0 END AS stands_alone
    FROM (
        SELECT s.history, s.value, MIN(s.op) AS op, MIN(t.ended_by) AS ended_by, MIN(t.state) AS state,
            MIN(CASE WHEN s.outcome = 'fail' THEN 1 ELSE 0 END) AS refused
        FROM sent s
        LEFT JOIN txns t ON t.history = s.history AND t.txn = s.txn
        WHERE s.outcome = 'fail' OR s.txn IS NOT NULL
        GROUP BY s.history, s.value
        HAVING MIN(CASE WHEN s.outcome = 'fail' OR t.state IN ('aborted', 'open') THEN 1 ELSE 0 END) = 1
    ) n
    JOIN seen r ON r.history = n.history AND r.value = n.value
    JOIN readers c ON c.history = r.history AND c.client = r.client
    WHERE (n.refused = 1 OR c.committed_only)
        AND NOT EXISTS (SELECT 1 FROM sent s WHERE s.history = n.history AND s.value = n.value
            AND s.outcome <> 'fail' AND s.txn IS NULL)
    GROUP BY r.history, r.topic, r.partition, r.log_offset, r.value, n.op, n.ended_by, n.refused, n.state
    """
SENTENCE = "Value {value_a}, read at {topic}-{partition} offset {offset_a}, {why}."

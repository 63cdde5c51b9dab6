"""fractured-transaction, wrong-marker: the markers of a transaction contradict each other, or its answer.

    begin, send a to t-0, send b to t-1
    t-0      a   COMMIT
    t-1      b   ABORT                      -> fractured-transaction: one half of it counts
    commit ok
    t-0      a   ABORT                      -> wrong-marker: acknowledged as committed, written as aborted

The marker that ends a transaction in a partition is the first one of its producer id above its records; which producer
id wrote them, the batch that holds them says. What readers are denied of a committed transaction, markers or not, is
`torn-transaction`. A transaction without any marker may still be open. An unknown outcome contradicts nothing but
another marker.
Source: KIP-98, "Transaction Coordinator"; catalogue txn-001, txn-011.
"""

NAME = "fractured-transaction"
GUARANTEE = "txn-001"
STRENGTH = "integrity"
DECIDES = ("txn-001", "txn-010", "txn-011")
OBSERVES = ("commit_txn", "abort_txn")
STANDS_ALONE = True
HARMS = True
NEEDS = ("batches.base_offset", "batches.control", "batches.transactional", "records.txn")
SUBJECT = "SELECT DISTINCT m.history FROM txn_marks m"
OTHERWISE = "no transaction is known with the markers that ended it"
QUERY = """
    SELECT c.history, c.topic, c.partition, c.log_offset AS offset_a, c.marker AS offset_b, c.op AS op_a,
        a.op AS op_b, t.ended_by AS op_c, c.txn, 'fractured-transaction' AS name, a.topic AS other_topic,
        'committed here and aborted elsewhere' AS what
    FROM txn_marks c
    JOIN (
        SELECT m.history, m.txn, MIN(m.topic) AS topic, MIN(m.op) AS op FROM txn_marks m WHERE m.control = 'ABORT'
        GROUP BY m.history, m.txn
    ) a ON a.history = c.history AND a.txn = c.txn
    LEFT JOIN txns t ON t.history = c.history AND t.txn = c.txn
    WHERE c.control = 'COMMIT'
    UNION ALL
    SELECT m.history, m.topic, m.partition, m.log_offset, m.marker, m.op, CAST(NULL AS BIGINT), t.ended_by, m.txn,
        'wrong-marker', m.topic,
        CASE WHEN m.control = 'COMMIT' THEN 'committed in the log, though no commit of it succeeded'
             ELSE 'aborted in the log, though EndTxn(commit) was acknowledged' END
    FROM txn_marks m
    JOIN txns t ON t.history = m.history AND t.txn = m.txn
    WHERE (t.state = 'committed' AND m.control = 'ABORT') OR (t.state IN ('aborted', 'open') AND m.control = 'COMMIT')
    """
SENTENCE = (
    "Transaction {txn}, whose records reach offset {offset_a} of {topic}-{partition}, is {what}: "
    "see the marker at offset {offset_b}."
)

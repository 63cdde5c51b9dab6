"""torn-transaction: a transaction was committed, but readers at read_committed are denied a part of it.

    begin, send a to t-0, send b to t-1, commit     ok
    read_committed, to the end      t-0: a   t-1: nothing
    read_uncommitted                t-0: a   t-1: b         -> t-1 has b, and treats it as aborted

Counted where a read_committed reader reached the last stable offset above the record at the end (event
`final-read-committed`), and where the record is in the log; what is not in the log at all is a lost-write. One row for
each partition that lacks something. What is still behind an open transaction may only be late.
Source: KIP-98, "Transactional Guarantees": all messages of a transaction are visible to consumers, or none of them.
"""

NAME = "torn-transaction"
GUARANTEE = "txn-001"
STRENGTH = "integrity"
DECIDES = ("txn-001", "txn-010", "txn-011", "txn-021")
OBSERVES = ("commit_txn",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("records.offset", "records.value", "records.outcome", "records.txn", "clients.isolation", "events.offset")
SUBJECT = "SELECT DISTINCT t.history FROM txns t WHERE t.state = 'committed'"
OTHERWISE = "no transaction was committed"
GAPS = """
    SELECT DISTINCT s.history, s.topic, s.partition FROM sent s
    JOIN txns t ON t.history = s.history AND t.txn = s.txn AND t.state = 'committed'
    LEFT JOIN committed_reads f ON f.history = s.history AND f.topic = s.topic AND f.partition = s.partition
    WHERE s.outcome = 'ok' AND f.topic IS NULL
    """
WITHHELD = "{topic}-{partition} was not read to its end at read_committed"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.txn, MIN(w.log_offset) AS offset_a, MIN(w.value) AS value_a,
        MIN(w.op) AS op_a, MIN(w.shown_by) AS op_b, w.ended_by AS op_c, COUNT(*) AS lacking, w.log_end
    FROM (
        SELECT s.history, s.topic, s.partition, s.txn, s.log_offset, s.value, s.op, t.ended_by, f.log_end,
            MIN(r.op) AS shown_by
        FROM sent s
        JOIN txns t ON t.history = s.history AND t.txn = s.txn AND t.state = 'committed'
        JOIN committed_reads f ON f.history = s.history AND f.topic = s.topic AND f.partition = s.partition
            AND f.log_end > s.log_offset
        JOIN seen r ON r.history = s.history AND r.value = s.value
        JOIN readers c ON c.history = r.history AND c.client = r.client
        LEFT JOIN topics k ON k.history = s.history AND k.topic = s.topic
        LEFT JOIN trimmed b ON b.history = s.history AND b.topic = s.topic AND b.partition = s.partition
        WHERE s.outcome = 'ok' AND NOT COALESCE(k.compacted, FALSE) AND (b.low IS NULL OR s.log_offset >= b.low)
        GROUP BY s.history, s.topic, s.partition, s.txn, s.log_offset, s.value, s.op, t.ended_by, f.log_end
        HAVING MAX(CASE WHEN c.committed_only THEN 1 ELSE 0 END) = 0
    ) w
    GROUP BY w.history, w.topic, w.partition, w.txn, w.ended_by, w.log_end
    """
SENTENCE = (
    "Transaction {txn} was committed, but read_committed consumers reached offset {log_end} of {topic}-{partition} "
    "without {lacking} of its records, the first at {offset_a}; other consumers read it there."
)

"""precommitted-read: a read_committed reader had a record before EndTxn(commit) was sent.

    begin, send a   |       commit, 20 ms to 25 ms
    read_committed reader   a at 10 ms              -> read before its commit began

Source: KIP-98 ("read_committed ... only transactional messages which have been committed"); Jepsen's kafka workload.
"""

NAME = "precommitted-read"
GUARANTEE = "txn-004"
STRENGTH = "integrity"
OBSERVES = ("commit_txn",)
STANDS_ALONE = True
NEEDS = ("records.value", "records.txn", "operations.call_ns", "operations.return_ns", "clients.isolation")
SUBJECT = "SELECT DISTINCT t.history FROM txns t WHERE t.state IN ('committed', 'unknown')"
OTHERWISE = "no transaction was committed"
QUERY = """
    SELECT r.history, r.topic, r.partition, r.log_offset AS offset_a, r.value AS value_a, w.op AS op_a,
        MIN(r.op) AS op_b, t.ended_by AS op_c
    FROM written_in_txn w
    JOIN txns t ON t.history = w.history AND t.txn = w.txn AND t.state IN ('committed', 'unknown')
    JOIN seen r ON r.history = w.history AND r.value = w.value
    JOIN readers c ON c.history = r.history AND c.client = r.client AND c.committed_only
    JOIN operations o ON o.history = r.history AND o.op = r.op AND o.topic = r.topic AND o.partition = r.partition
    WHERE o.return_ns < t.commit_call
    GROUP BY r.history, r.topic, r.partition, r.log_offset, r.value, w.op, t.ended_by
    """
SENTENCE = (
    "Value {value_a} at {topic}-{partition} offset {offset_a} was delivered to a read_committed consumer before "
    "EndTxn(commit) was sent."
)

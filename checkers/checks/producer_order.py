"""nonmonotonic-send: one producer's records lie in the partition in another order than it sent them.

    sent by p      a   b   c
    offset         0   2   1        -> c lies before b

Promised to idempotent producers, whatever happens between; to others only for what was acknowledged at the first and
only attempt. Without either, retries may reorder by right.
Attribution by the wire: if the sequence numbers of the two were in the right order, the broker's; so too if
both, without numbers, were asked of one node in the right order and acknowledged.
Source: producer configuration, max.in.flight.requests.per.connection and enable.idempotence; KIP-98.
"""

NAME = "nonmonotonic-send"
GUARANTEE = "ord-003"
STRENGTH = "order"
DECIDES = ("ord-003", "ord-002", "ord-001", "repl-012", "repl-015")
OBSERVES = ("send",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("records.offset", "records.value", "records.position", "clients.idempotence")
SUBJECT = "SELECT DISTINCT w.history FROM writers w WHERE w.idempotent OR w.single_attempt"
OTHERWISE = "every producer may retry without idempotence, which may reorder"
QUERY = """
    SELECT w.history, w.topic, w.partition, w.before_offset AS offset_a, w.log_offset AS offset_b,
        w.before_value AS value_a, w.value AS value_b, w.before_op AS op_a, w.op AS op_b,
        MIN(CASE WHEN w.raw OR m.request_ns < n.request_ns THEN 'broker'
                 WHEN a.producer_id IS NULL OR b.producer_id IS NULL THEN 'unknown'
                 WHEN a.producer_id = b.producer_id AND a.producer_epoch = b.producer_epoch
                     AND a.base_sequence + w.before_offset - a.base_offset
                         < b.base_sequence + w.log_offset - b.base_offset
                     THEN 'broker'
                 ELSE 'client' END) AS attribution
    FROM (
        SELECT x.history, x.client, x.topic, x.partition, x.log_offset, x.value, x.op, x.raw,
            LAG(x.log_offset) OVER (PARTITION BY x.lane ORDER BY x.place NULLS LAST, x.op NULLS LAST) AS before_offset,
            LAG(x.value) OVER (PARTITION BY x.lane ORDER BY x.place NULLS LAST, x.op NULLS LAST) AS before_value,
            LAG(x.op) OVER (PARTITION BY x.lane ORDER BY x.place NULLS LAST, x.op NULLS LAST) AS before_op
        FROM records_by_producer x
        JOIN disordered d ON d.lane = x.lane AND d.block = x.block
    ) w
    LEFT JOIN stored a ON a.history = w.history AND a.topic = w.topic AND a.partition = w.partition
        AND w.before_offset BETWEEN a.base_offset AND a.last_offset
    LEFT JOIN stored b ON b.history = w.history AND b.topic = w.topic AND b.partition = w.partition
        AND w.log_offset BETWEEN b.base_offset AND b.last_offset
    LEFT JOIN asked m ON m.history = w.history AND m.client = w.client AND m.topic = w.topic
        AND m.partition = w.partition AND w.before_offset BETWEEN m.base_offset AND m.last_offset
    LEFT JOIN asked n ON n.history = w.history AND n.client = w.client AND n.topic = w.topic
        AND n.partition = w.partition AND w.log_offset BETWEEN n.base_offset AND n.last_offset AND n.node = m.node
    WHERE w.before_offset > w.log_offset
    GROUP BY w.history, w.topic, w.partition, w.before_offset, w.log_offset, w.before_value, w.value,
        w.before_op, w.op
    """
SENTENCE = (
    "One producer sent value {value_a} before value {value_b} to {topic}-{partition}, "
    "but they lie at offsets {offset_a} and {offset_b}."
)

"""lso-regression, lso-above-high-watermark: the last stable offset went back, or passed the high watermark.

    fetch, epoch 4    call 0  return 1      last stable offset 9
    fetch, epoch 4    call 2  return 3      last stable offset 7    -> what was settled is open again
    one answer, epoch 4          call 4  return 5   high watermark 7   last stable offset 9
    a later one, epoch 4         call 6  return 7   high watermark 8                -> 9 was above what was committed

A transaction begins above all that is stable, so that within one leader epoch the last stable offset only rises; a new
leader starts from what it has (as in `high-watermark-regression`). At one moment it is never above the high watermark,
but an answer need not be of one moment: Kafka reads the high watermark first (Partition.readRecords), so that the last
stable offset beside it may be newer. A later answer of the same epoch whose high watermark is still below proves it.
Source: KIP-98, "Last Stable Offset"; catalogue txn-004.
"""

NAME = "lso-regression"
GUARANTEE = "txn-004"
STRENGTH = "recency"
OBSERVES = ("fetch", "list_offsets")
SHOWING = ("last_stable", "leader_epoch")
STANDS_ALONE = True
NEEDS = ("operations.last_stable", "operations.high_watermark", "operations.call_ns", "operations.leader_epoch")
SUBJECT = """
    SELECT o.history FROM rising o WHERE o.quantity = 'last-stable'
    UNION SELECT o.history FROM operations o WHERE o.kind = 'fetch' AND o.outcome = 'ok' AND o.last_stable >= 0
        AND o.high_watermark >= 0
    """
OTHERWISE = "no last stable offset is known with its leader epoch or its high watermark"
QUERY = """
    SELECT f.history, f.topic, f.partition, f.op_a, f.op_b, f.before_level AS offset_a, f.level AS offset_b,
        'lso-regression' AS name, f.before_level - f.level AS records_back,
        (f.call_ns - f.told_ns) / 1000000.0 AS ms_back, 'then, in the same leader epoch, as' AS how
    FROM regressions f WHERE f.quantity = 'last-stable'
    UNION ALL
    SELECT o.history, o.topic, o.partition, o.op, MIN(b.op), o.last_stable, MIN(b.high_watermark),
        'lso-above-high-watermark', o.last_stable - MIN(b.high_watermark),
        (MIN(b.call_ns) - o.return_ns) / 1000000.0, 'above the high watermark that was reported later,'
    FROM operations o
    JOIN operations b ON b.history = o.history AND b.topic = o.topic AND b.partition = o.partition
        AND b.leader_epoch = o.leader_epoch AND b.call_ns >= o.return_ns AND b.high_watermark < o.last_stable
    LEFT JOIN recreated d ON d.history = o.history AND d.topic = o.topic
    WHERE o.kind = 'fetch' AND o.outcome = 'ok' AND o.high_watermark >= 0 AND o.last_stable > o.high_watermark
        AND o.leader_epoch >= 0 AND b.kind = 'fetch' AND b.outcome = 'ok' AND b.high_watermark >= 0
        AND d.topic IS NULL
    GROUP BY o.history, o.topic, o.partition, o.op, o.last_stable, o.return_ns
    """
SENTENCE = (
    "The last stable offset of {topic}-{partition} was {offset_a}, {how} {offset_b}: {records_back} record(s), "
    "{ms_back:.3f} ms after."
)

"""lso-regression, lso-above-high-watermark: the last stable offset went back, or passed the high watermark.

    fetch, epoch 4    call 0  return 1      last stable offset 9
    fetch, epoch 4    call 2  return 3      last stable offset 7    -> what was settled is open again
    one answer        high watermark 7      last stable offset 9    -> above what is committed

A transaction begins above all that is stable, so that within one leader epoch the last stable offset only rises; a new
leader starts from what it has (as in `high-watermark-regression`). In one answer it is never above the high watermark.
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
    FROM fallen f WHERE f.quantity = 'last-stable'
    UNION ALL
    SELECT o.history, o.topic, o.partition, o.op, CAST(NULL AS BIGINT), o.last_stable, o.high_watermark,
        'lso-above-high-watermark', o.last_stable - o.high_watermark, 0.0, 'above the high watermark,'
    FROM operations o
    LEFT JOIN recreated d ON d.history = o.history AND d.topic = o.topic
    WHERE o.kind = 'fetch' AND o.outcome = 'ok' AND o.high_watermark >= 0 AND o.last_stable > o.high_watermark
        AND d.topic IS NULL
    """
SENTENCE = (
    "The last stable offset of {topic}-{partition} was told as {offset_a}, {how} {offset_b}: "
    "{records_back} record(s), {ms_back:.3f} ms after."
)

"""high-watermark-regression: within one leader epoch, the high watermark of a partition went back.

    fetch, epoch 4    call 0  return 1      high watermark 9
    fetch, epoch 4    call 2  return 3      high watermark 7        -> 2 records, and 1 ns, back

A new leader may know of less than the old one: its high watermark starts from what it has, and only then rises.
So responses count against each other within one leader epoch; where one does not carry its epoch, only with one node
and no faults. Ends that ListOffsets returned are checked more strictly by `log-recency`, across epochs (KIP-207).
Source: Kafka documentation, "Replication"; KIP-392 for followers (another node counts apart); catalogue fetch-010.
"""

NAME = "high-watermark-regression"
GUARANTEE = "fetch-010"
STRENGTH = "recency"
OBSERVES = ("fetch", "list_offsets")
SHOWING = ("high_watermark", "leader_epoch")
STANDS_ALONE = True
NEEDS = ("operations.high_watermark", "operations.call_ns", "operations.return_ns", "operations.leader_epoch")
SUBJECT = "SELECT DISTINCT o.history FROM rising o WHERE o.quantity = 'high-watermark'"
OTHERWISE = "no high watermark is known with its leader epoch"
QUERY = """
    SELECT f.history, f.topic, f.partition, f.op_a, f.op_b, f.before_level AS offset_a, f.level AS offset_b,
        f.before_level - f.level AS records_back, (f.call_ns - f.told_ns) / 1000000.0 AS ms_back
    FROM regressions f WHERE f.quantity = 'high-watermark'
    """
SENTENCE = (
    "The high watermark of {topic}-{partition} fell from {offset_a} to {offset_b} within one leader epoch "
    "({records_back} record(s); requests {ms_back:.3f} ms apart)."
)

"""log-start-regression: the start of a log went back: what was deleted is there again.

    log start 5     call 0  return 1
    log start 3     call 2  return 3        -> 3 and 4 were gone

Retention and DeleteRecords move it up, nothing moves it down. Kafka writes it to disk now and then only, so that after
a node was killed it may come back lower: answers after the first kill are left out.
Source: KIP-107; Kafka protocol guide, Fetch response, log_start_offset; catalogue fetch-010, adm-011.
"""

NAME = "log-start-regression"
GUARANTEE = "fetch-010"
STRENGTH = "recency"
OBSERVES = ("fetch", "list_offsets")
SHOWING = ("log_start",)
STANDS_ALONE = True
NEEDS = ("operations.log_start", "operations.call_ns", "operations.return_ns")
SUBJECT = "SELECT DISTINCT o.history FROM rising o WHERE o.quantity = 'log-start'"
OTHERWISE = "no log start offset was reported before a node was killed"
QUERY = """
    SELECT f.history, f.topic, f.partition, f.op_a, f.op_b, f.before_level AS offset_a, f.level AS offset_b,
        f.before_level - f.level AS records_back, (f.call_ns - f.told_ns) / 1000000.0 AS ms_back
    FROM regressions f WHERE f.quantity = 'log-start'
    """
SENTENCE = (
    "The log start offset of {topic}-{partition} fell from {offset_a} to {offset_b} ({records_back} offset(s); "
    "requests {ms_back:.3f} ms apart)."
)

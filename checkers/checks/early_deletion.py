"""early-deletion: the start of a log rose above a record that retention had to keep.

    retention.ms 60000, retention.bytes -1
    send a   acknowledged at 0           call 10 s
    log start is 1                       reported at 30 s    -> a was at most 20 s old

Judged in partitions whose limits are known (event `topic`: retention_ms, retention_bytes -1) and from which no
client deleted records. A record's age is counted from when its send was called, a little too long, and only where
its timestamp is from that time: timestamps of the past are old by right. With retention.ms -1 nothing may go at all.
Source: Kafka documentation, retention.ms and retention.bytes; catalogue ret-003, ret-009.
"""

NAME = "early-deletion"
GUARANTEE = "ret-003"
STRENGTH = "durability"
OBSERVES = ("fetch", "list_offsets")
SHOWING = ("log_start",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("operations.log_start", "operations.call_ns", "operations.return_ns", "records.offset", "records.timestamp")
SUBJECT = "SELECT DISTINCT r.history FROM risen_starts r"
OTHERWISE = "no log start rose in a topic whose limits are known"
GAPS = """
    SELECT DISTINCT r.history, r.topic, r.partition FROM risen_starts r
    WHERE r.retention_ms >= 0 AND NOT EXISTS (SELECT 1 FROM sent s WHERE s.history = r.history AND s.topic = r.topic
        AND s.partition = r.partition AND s.log_offset < r.log_start AND s.record_time IS NOT NULL)
    """
WITHHELD = "the times of the records that are gone from {topic}-{partition} are not known"
QUERY = """
    SELECT r.history, r.topic, r.partition, MIN(s.log_offset) AS offset_a, r.log_start AS offset_b,
        MIN(s.op) AS op_a, r.op AS op_b, COUNT(DISTINCT s.log_offset) AS gone, r.retention_ms,
        (r.return_ns - MAX(o.call_ns)) / 1000000.0 AS ms_old
    FROM risen_starts r
    JOIN sent s ON s.history = r.history AND s.topic = r.topic AND s.partition = r.partition AND s.outcome = 'ok'
        AND s.log_offset < r.log_start
    JOIN operations o ON o.history = s.history AND o.op = s.op AND o.topic = s.topic AND o.partition = s.partition
    JOIN first_stamps x ON x.history = s.history
    WHERE r.retention_ms = -1
        OR (r.return_ns - o.call_ns < r.retention_ms * 1000000
            AND (s.record_time - x.record_time) * 1000000 >= o.call_ns - x.call_ns - 1000000000)
    GROUP BY r.history, r.topic, r.partition, r.log_start, r.op, r.retention_ms, r.return_ns
    """
SENTENCE = (
    "The log of {topic}-{partition} starts at {offset_b}: {gone} record(s) from offset {offset_a} on were deleted, "
    "the youngest at most {ms_old:.0f} ms old; retention.ms is {retention_ms}."
)

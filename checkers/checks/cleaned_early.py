"""cleaned-early: cleaning took a record that was younger than the topic promises to keep each one.

    min.compaction.lag.ms 60000
    send a (key 1) at offset 0     call 10 s
    send b (key 1) at offset 1
    a reader from 0 is given 1     return 20 s         -> a was at most 10 s old

A reader that keeps up sees every record, not only the last of a key. Judged where the lag is known (event `topic`:
min_compaction_lag_ms) and no record was deleted on request, for acknowledged records of durable producers whose
timestamp is from when they were sent, that a stream passed by within the lag.
Source: Kafka documentation, min.compaction.lag.ms; catalogue comp-004.
"""

NAME = "cleaned-early"
GUARANTEE = "comp-004"
STRENGTH = "durability"
OBSERVES = ("send",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("records.prev_offset", "records.offset", "records.timestamp", "operations.call_ns", "clients.acks")
SUBJECT = """
    SELECT DISTINCT s.history FROM sent s
    JOIN topics k ON k.history = s.history AND k.topic = s.topic AND k.compacted AND k.min_compaction_lag_ms > 0
    """
OTHERWISE = "nothing was sent to a topic that is compacted with a known lag"
GAPS = """
    SELECT DISTINCT s.history, s.topic, s.partition FROM sent s
    JOIN topics k ON k.history = s.history AND k.topic = s.topic AND k.compacted AND k.min_compaction_lag_ms > 0
    WHERE NOT EXISTS (SELECT 1 FROM found r WHERE r.history = s.history AND r.topic = s.topic
        AND r.partition = s.partition AND r.prev_offset IS NOT NULL)
    """
WITHHELD = "no consumer read {topic}-{partition} from a known position"
QUERY = """
    SELECT s.history, s.topic, s.partition, s.log_offset AS offset_a, MIN(j.log_offset) AS offset_b,
        s.value AS value_a, s.op AS op_a, MIN(j.op) AS op_b, k.min_compaction_lag_ms,
        (MIN(q.return_ns) - o.call_ns) / 1000000.0 AS ms_old
    FROM jumps j
    JOIN topics k ON k.history = j.history AND k.topic = j.topic AND k.compacted AND k.min_compaction_lag_ms > 0
    JOIN operations q ON q.history = j.history AND q.op = j.op AND q.topic = j.topic AND q.partition = j.partition
    JOIN sent s ON s.history = j.history AND s.topic = j.topic AND s.partition = j.partition AND s.outcome = 'ok'
        AND s.log_offset > j.prev_offset AND s.log_offset < j.log_offset
    JOIN producers p ON p.history = s.history AND p.client = s.client AND p.durable
    JOIN operations o ON o.history = s.history AND o.op = s.op AND o.topic = s.topic AND o.partition = s.partition
    JOIN first_stamps x ON x.history = s.history
    LEFT JOIN txns t ON t.history = s.history AND t.txn = s.txn
    LEFT JOIN asked_cuts a ON a.history = s.history AND a.topic = s.topic AND a.partition = s.partition
    WHERE (s.txn IS NULL OR t.state = 'committed') AND a.topic IS NULL
        AND q.return_ns - o.call_ns < k.min_compaction_lag_ms * 1000000
        AND (s.record_time - x.record_time) * 1000000 >= o.call_ns - x.call_ns - 1000000000
    GROUP BY s.history, s.topic, s.partition, s.log_offset, s.value, s.op, k.min_compaction_lag_ms, o.call_ns
    """
SENTENCE = (
    "Value {value_a} at {topic}-{partition} offset {offset_a} was compacted away at an age of at most {ms_old:.0f} "
    "ms; min.compaction.lag.ms is {min_compaction_lag_ms}."
)

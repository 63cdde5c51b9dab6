"""lost-write: an acknowledged record that readers passed by.

    offset   0   1   2   3
    sent     a   b   c   d      all acknowledged
    read     a   b       d      -> c is lost: d, which lies above it, was read

Owed is what was acknowledged by all in-sync replicas (or by the only node), whose transaction committed, and which was
neither cut off (DeleteRecords, retention) nor compacted away. A record above everything that anyone read is `unseen`,
not lost: it may only be late. A record that one reader saw and another passed by is a `poll-skip`.
Source: Jepsen's kafka workload; Kafka documentation, "Message Delivery Semantics" (design.html#semantics).
"""

NAME = "lost-write"
GUARANTEE = "prod-002"
STRENGTH = "durability"
DECIDES = ("prod-002", "ord-006", "prod-018", "repl-001", "repl-010", "repl-012", "fetch-015")
OBSERVES = ("send",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("records.offset", "records.value", "records.outcome", "records.prev_offset", "clients.acks")
SUBJECT = "SELECT DISTINCT w.history FROM writers w WHERE w.durable AND w.acknowledged"
OTHERWISE = "no send was acknowledged by all in-sync replicas"
GAPS = """
    SELECT h.history FROM histories h LEFT JOIN reading f ON f.history = h.history
    WHERE f.history IS NULL
    """
WITHHELD = "nothing was read"
QUERY = """
    SELECT l.history, l.topic, l.partition, l.log_offset AS offset_a, l.value AS value_a, l.op AS op_a,
        l.reach AS offset_b, MIN(p.op) AS op_b
    FROM passed_records l
    JOIN skipped_ranges p ON p.history = l.history AND p.topic = l.topic AND p.partition = l.partition
        AND p.log_offset = l.reach AND p.prev_offset < l.log_offset
    GROUP BY l.history, l.topic, l.partition, l.log_offset, l.value, l.op, l.reach
    """
SENTENCE = (
    "Value {value_a} was acknowledged at {topic}-{partition} offset {offset_a}, but a consumer read past it to "
    "offset {offset_b}, and no consumer ever read it."
)

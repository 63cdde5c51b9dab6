"""at-least-once: consume, transform, produce without transactions, and an input that was committed has no copy.

    input    a   b   c          the group committed offset 3
    output   a'      c'         -> b was committed as done, and its copy is nowhere
    output   a'  a"  b'  c'     twice is right: a was copied again after a crash

A pipeline that commits its input after its copy was acknowledged loses nothing; it may repeat. A copy is a record sent
with `derived_from`, and counts when anyone saw it. Judged for offsets committed outside transactions (inside, it is
`exactly-once`), from the first input that was copied at all, and only where the output was read to its end.
Whether the client had its answers before it committed, its own operations say: a copy that was acknowledged before the
commit was called is the broker's to keep; an input committed without one is the client's doing.
Source: Kafka documentation, "Message Delivery Semantics"; catalogue cmt-005, prod-002.
"""

NAME = "at-least-once"
GUARANTEE = "cmt-005"
STRENGTH = "durability"
OBSERVES = ("commit",)
SHOWING = ("group",)
HARMS = True
NEEDS = ("records.derived_from", "records.value", "operations.committed_offset", "events.offset", "clients.acks")
SUBJECT = """
    SELECT DISTINCT s.history FROM sent s
    JOIN (SELECT DISTINCT o.history FROM operations o WHERE o.kind = 'commit' AND o.txn IS NULL) c
        ON c.history = s.history
    WHERE s.derived_from IS NOT NULL AND s.txn IS NULL
    """
OTHERWISE = "nothing was copied and committed without transactions"
GAPS = """
    SELECT u.history, u.topic, u.partition FROM unread_copies u WHERE u.partition >= 0
    """
WITHHELD = "{topic}-{partition} was not read to its end"
QUERY = """
    SELECT i.history, i.topic, i.partition, i.log_offset AS offset_a, i.value AS value_a, i.op AS op_a,
        MAX(c.committed_offset) AS offset_b, MIN(c.op) AS op_b, MIN(d.op) AS op_c,
        CASE WHEN MIN(d.op) IS NULL THEN 'client' ELSE 'broker' END AS attribution
    FROM inputs i
    JOIN copied_from e ON e.history = i.history AND e.topic = i.topic AND e.partition = i.partition
        AND i.log_offset >= e.first_copied
    JOIN commits c ON c.history = i.history AND c.topic = i.topic AND c.partition = i.partition
        AND c.committed_offset > i.log_offset AND c.done_ns IS NOT NULL
    JOIN operations o ON o.history = c.history AND o.op = c.op AND o.topic = c.topic AND o.partition = c.partition
        AND o.txn IS NULL
    LEFT JOIN plain_copies d ON d.history = i.history AND d.source = i.value AND d.acknowledged_ns < c.call_ns
    WHERE NOT EXISTS (SELECT 1 FROM sent s JOIN seen r ON r.history = s.history AND r.value = s.value
            WHERE s.history = i.history AND s.derived_from = i.value)
        AND NOT EXISTS (SELECT 1 FROM unread_copies u WHERE u.history = i.history)
    GROUP BY i.history, i.topic, i.partition, i.log_offset, i.value, i.op
    """
SENTENCE = (
    "Offset {offset_b} of {topic}-{partition} was committed, but of value {value_a}, the input at offset {offset_a}, "
    "no copy is in the output."
)

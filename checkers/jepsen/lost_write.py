"""lost-write: a value that was surely written lies below what successful polls reached, and none of them showed it.

    send a at 0, send b at 1        acknowledged
    poll        c at 2              -> a and b are lost

How far polls reached is the highest *first* place of a value that they showed; lost is what has its *last* place at or
below that, so that a conflict about an offset is no false accusation. The writer was acknowledged, or it is of unknown
outcome and a successful poll showed another of its values: a transaction is committed as a whole. Permitted where not
all in-sync replicas had acknowledged it.
Source: Jepsen's kafka workload, `lost-write`; Kafka documentation, "Message Delivery Semantics".
"""

NAME = "lost-write"
GUARANTEE = "prod-002"
STRENGTH = "durability"
NEEDS = ("records.offset", "records.value", "records.outcome")
SUBJECT = "SELECT DISTINCT s.history FROM settled s WHERE s.history IN (SELECT r.history FROM shown_ok r)"
OTHERWISE = "no send surely happened, or nothing was polled"
QUERY = """
    SELECT m.history, m.topic, m.partition, m.value AS value_a, m.first_offset AS offset_a, m.op AS op_a,
        MIN(b.first_offset) AS offset_b, MIN(r.op) AS op_b, m.reach, m.judged
    FROM lost_versions m
    JOIN version_span b ON b.history = m.history AND b.topic = m.topic AND b.partition = m.partition
        AND b.first_version = m.reach
    JOIN shown_ok r ON r.history = b.history AND r.topic = b.topic AND r.partition = b.partition
        AND r.value = b.value
    GROUP BY m.history, m.topic, m.partition, m.value, m.first_offset, m.op, m.reach, m.judged
    """
SENTENCE = (
    "What operation {op_a} wrote at offset {offset_a} of key {topic} was shown by no successful poll, although "
    "operation {op_b} polled offset {offset_b} above it."
)

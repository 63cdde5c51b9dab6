"""group-repeated: a member that took over a partition was given records again that the group had committed.

    m1       a b c    commit 3 (ok)   leaves
    m2       takes over, is given b c d     -> b and c are repeated beyond the uncommitted span; c d would be too, d not

At least once: what was delivered and not committed comes again, what was committed does not. Judged where a stream of a
subscribed member began, against commits that were acknowledged before that member was assigned its partition, unless a
commit of a lower offset may be in force instead. A member that seeks, or that learns that its position is gone, and
groups with a client that commits by itself, are not judged.
Source: Kafka documentation, "Consumer Position" and "Message Delivery Semantics"; catalogue cmt-005.
"""

NAME = "group-repeated"
GUARANTEE = "cmt-005"
STRENGTH = "durability"
OBSERVES = ("commit",)
SHOWING = ("group",)
NEEDS = ("records.stream", "records.position", "memberships.from_ns", "operations.committed_offset", "clients.group")
SUBJECT = "SELECT DISTINCT r.history FROM resumptions r WHERE r.since_ns IS NOT NULL"
OTHERWISE = "no member is known to have taken over a partition and read from it"
QUERY = """
    SELECT r.history, r.group_id, r.topic, r.partition, r.log_offset AS offset_a, r.value AS value_a, r.op AS op_b,
        MAX(c.committed_offset) AS offset_b, MIN(c.op) AS op_a, MAX(c.committed_offset) - r.log_offset AS records_back,
        r.client
    FROM resumptions r
    JOIN commits c ON c.history = r.history AND c.group_id = r.group_id AND c.topic = r.topic
        AND c.partition = r.partition AND c.done_ns < r.since_ns AND c.committed_offset > r.log_offset
    WHERE NOT EXISTS (SELECT 1 FROM commits w WHERE w.history = c.history AND w.group_id = c.group_id
            AND w.topic = c.topic AND w.partition = c.partition AND w.committed_offset <= r.log_offset
            AND w.call_ns <= r.return_ns AND (w.done_ns IS NULL OR w.done_ns >= c.call_ns))
    GROUP BY r.history, r.group_id, r.topic, r.partition, r.log_offset, r.value, r.op, r.client
    """
SENTENCE = (
    "Group {group_id} had committed offset {offset_b} of {topic}-{partition}, but {client}, the new owner, "
    "received offset {offset_a} again ({records_back} record(s) re-delivered)."
)

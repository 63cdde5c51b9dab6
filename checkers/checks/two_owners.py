"""two-owners: two members of one group owned a partition at the same time.

    generation 4     m1: t-0      m2: t-1
    generation 5     m1: t-1      m2: t-1        -> t-1 has two owners

Ownership is what SyncGroup assigned to each member, seen on the wire, until a response, the end of its membership or a
later generation ended it. Judged for the classic protocol: members of the new one that vanish are known to the broker
alone. A member that lags in an older generation owns nothing by right; that is no second owner.
Source: Kafka documentation, "Consumers": each partition is consumed by exactly one consumer of a group at a time.
"""

NAME = "two-owners"
GUARANTEE = "grp-001"
STRENGTH = "integrity"
DECIDES = ("grp-001", "grp-007", "grp-011")
OBSERVES = ("membership",)
STANDS_ALONE = True
NEEDS = ("memberships.generation", "memberships.from_ns", "clients.protocol")
SUBJECT = "SELECT DISTINCT m.history FROM memberships m WHERE m.generation >= 0"
OTHERWISE = "no ownership was seen on the wire"
QUERY = """
    SELECT b.history, b.topic, b.partition, b.group_id, MIN(a.member) AS member_a, b.member AS member_b, b.generation,
        COUNT(*) AS others
    FROM memberships b
    JOIN memberships a ON a.history = b.history AND a.group_id = b.group_id AND a.topic = b.topic
        AND a.partition = b.partition AND a.member <> b.member AND a.generation >= 0 AND a.generation <= b.generation
        AND a.from_ns < b.from_ns AND (a.until_ns IS NULL OR a.until_ns > b.from_ns)
    WHERE b.generation >= 0
        AND NOT EXISTS (SELECT 1 FROM clients c WHERE c.history = b.history AND c.protocol = 'consumer'
            AND c.client = b.client)
    GROUP BY b.history, b.topic, b.partition, b.group_id, b.member, b.generation
    """
SENTENCE = (
    "In generation {generation} of group {group_id}, {member_b} was assigned {topic}-{partition} while {member_a} "
    "still owned it."
)

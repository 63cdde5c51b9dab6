"""orphan-partition: in a stable group, no member owned a partition that the group had owned before.

    generation 4     m1: t-0      m2: t-1
    generation 5     m1: t-0                    for a minute and longer     -> t-1 is orphaned

A rebalance takes partitions away before it gives them out again, so that only a stretch of a minute counts in which no
membership of the group began or ended: longer than the sessions and rebalances of the default settings. In it, some
partition of the same topic must have an owner (the group still wants the topic). Ownership is what the wire showed.
Who assigns is the leading member in the classic protocol, the broker in the new one: the first is not the broker's
doing unless shown otherwise.
Source: KIP-848; Kafka documentation, "Consumers"; catalogue grp-017, g848-005.
"""

NAME = "orphan-partition"
GUARANTEE = "grp-017"
STRENGTH = "recency"
DECIDES = ("grp-017", "g848-005")
OBSERVES = ("membership",)
STANDS_ALONE = True
NEEDS = ("memberships.generation", "memberships.from_ns", "memberships.until_ns", "clients.protocol")
SUBJECT = "SELECT DISTINCT p.history FROM quiet_periods p"
OTHERWISE = "no group was left at peace for a minute"
QUERY = """
    SELECT p.history, p.group_id, w.topic, w.partition, p.from_ns, (p.until_ns - p.from_ns) / 1000000.0 AS ms_alone,
        MIN(o.member) AS member,
        CASE WHEN MIN(e.group_id) IS NULL THEN 'unknown' ELSE 'broker' END AS attribution
    FROM quiet_periods p
    JOIN (SELECT DISTINCT m.history, m.group_id, m.topic, m.partition FROM memberships m WHERE m.generation >= 0) w
        ON w.history = p.history AND w.group_id = p.group_id
    JOIN memberships o ON o.history = p.history AND o.group_id = p.group_id AND o.topic = w.topic AND o.generation >= 0
        AND o.from_ns <= p.from_ns AND (o.until_ns IS NULL OR o.until_ns >= p.until_ns)
    LEFT JOIN epoch_groups e ON e.history = p.history AND e.group_id = p.group_id
    WHERE NOT EXISTS (SELECT 1 FROM memberships x WHERE x.history = p.history AND x.group_id = p.group_id
            AND x.topic = w.topic AND x.partition = w.partition AND x.generation >= 0 AND x.from_ns <= p.from_ns
            AND (x.until_ns IS NULL OR x.until_ns >= p.until_ns))
        AND EXISTS (SELECT 1 FROM memberships x WHERE x.history = p.history AND x.group_id = p.group_id
            AND x.topic = w.topic AND x.partition = w.partition AND x.generation >= 0 AND x.from_ns < p.from_ns)
    GROUP BY p.history, p.group_id, w.topic, w.partition, p.from_ns, p.until_ns
    """
SENTENCE = (
    "Group {group_id} left {topic}-{partition} without an owner for {ms_alone:.0f} ms, while {member} owned other "
    "partitions of the topic and nothing changed in the group."
)

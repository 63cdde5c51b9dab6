"""generation-regression: a member got an older generation, or epoch, after a newer one.

    member m1    SyncGroup, generation 5
    member m1    SyncGroup, generation 4        -> the group went back

Each completed rebalance raises the generation, and a coordinator that takes over has it from the log. Judged for one
member at a time: answers to two members may pass each other on the way. Groups that were deleted begin anew.
Source: Kafka protocol guide, JoinGroup and SyncGroup; KIP-848 for member epochs; catalogue grp-006, g848-003.
"""

NAME = "generation-regression"
GUARANTEE = "grp-006"
STRENGTH = "order"
OBSERVES = ("membership",)
STANDS_ALONE = True
NEEDS = ("memberships.generation", "memberships.from_ns", "memberships.member")
SUBJECT = "SELECT DISTINCT m.history FROM memberships m WHERE m.generation >= 0"
OTHERWISE = "no generation of a group was seen on the wire"
QUERY = """
    SELECT w.history, w.group_id, w.topic, w.partition, w.member, w.generation, MAX(w.reached) AS before_generation
    FROM (
        SELECT m.history, m.group_id, m.topic, m.partition, m.member, m.generation,
            MAX(m.generation) OVER (PARTITION BY m.history, m.group_id, m.member ORDER BY m.from_ns NULLS LAST
                RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
        FROM memberships m WHERE m.generation >= 0
    ) w
    LEFT JOIN reset_groups d ON d.history = w.history AND d.group_id = w.group_id
    WHERE w.generation < w.reached AND d.group_id IS NULL
    GROUP BY w.history, w.group_id, w.topic, w.partition, w.member, w.generation
    """
SENTENCE = (
    "Member {member} of group {group_id} was assigned {topic}-{partition} in generation {generation}, after "
    "generation {before_generation}."
)

"""zombie-commit: the commit of a member that its group had gone on without was accepted.

    generation 5 is complete            at 10 ns
    commit by a member of generation 4  call 12, ok       -> it must be refused (ILLEGAL_GENERATION)

A member that was expelled, or that slept through a rebalance, no longer owns what it commits. Judged for commits that
state their generation, in groups of the classic protocol, against generations that had been answered before the commit
was called; in the new protocol each member has an epoch of its own.
Source: Kafka protocol guide, OffsetCommit; catalogue grp-024, grp-009.
"""

NAME = "zombie-commit"
GUARANTEE = "grp-024"
STRENGTH = "integrity"
OBSERVES = ("commit", "commit-seen")
SHOWING = ("generation",)
STANDS_ALONE = True
NEEDS = ("operations.generation", "operations.group", "operations.committed_offset", "clients.protocol")
SUBJECT = """
    SELECT DISTINCT o.history FROM operations o
    JOIN generations g ON g.history = o.history AND g.group_id = o.group_id
    WHERE o.kind IN ('commit', 'commit-seen') AND o.generation >= 0 AND o.outcome = 'ok'
    """
OTHERWISE = "no commit states the generation of its member"
QUERY = """
    SELECT o.history, o.group_id, o.topic, o.partition, o.committed_offset AS offset_a, o.op AS op_a, o.generation,
        MAX(g.generation) AS newer, MIN(w.op) AS op_b
    FROM operations o
    JOIN generations g ON g.history = o.history AND g.group_id = o.group_id AND g.generation > o.generation
        AND g.at_ns < o.call_ns
    LEFT JOIN operations w ON w.history = g.history AND w.group_id = g.group_id AND w.generation = g.generation
        AND w.return_ns = g.at_ns
    WHERE o.kind IN ('commit', 'commit-seen') AND o.outcome = 'ok' AND o.generation >= 0
    GROUP BY o.history, o.group_id, o.topic, o.partition, o.committed_offset, o.op, o.generation
    """
SENTENCE = (
    "Group {group_id} accepted a commit of offset {offset_a} for {topic}-{partition} from generation {generation} "
    "after generation {newer} had started."
)

"""What patterns with several alternatives match: whole names (KIP-848)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.suites.probe.patterns import drawn_pattern

TOPICS, GROUPS, WITHIN_S = 6, 8, 40


@case(
    "groups/patterns-mean-whole-names",
    guarantees=["g848-016"],
    apis={"ConsumerGroupHeartbeat": 1},
    features={"group.version": 1},
    detects=["B67"],
)
def no_alternative_matches_a_part_of_a_name(wire, topic_of, rng):
    """A member that subscribes by a pattern of several alternatives MUST be assigned the topics whose whole names one
    of them matches, and no topic whose name only begins, ends or goes on with what one of them matches.

    Six topics, eight groups of one member each; their patterns are drawn.
    """
    topics = [topic_of(what=f"t{number}") for number in range(TOPICS)]
    members = {}
    for _ in range(GROUPS):
        wanted = rng.sample(topics, rng.randint(1, TOPICS - 1))
        pattern = drawn_pattern(rng, topics, wanted)
        member = ConsumerGroupMember(wire, wire.name("g"), *topics, topics=None, regex=pattern)
        members[member] = pattern, {(topic, 0) for topic in wanted}
        member.beat().must_succeed()
    for member, (pattern, wanted) in members.items():
        wire.eventually(lambda one=member, by=pattern, to=wanted: _must_own(one, by, to), within=WITHIN_S)


def _must_own(member, pattern, wanted):
    answer = member.beat().must_succeed()
    answer.must(
        member.owned == wanted,
        f"by {pattern} it owns partitions of {len(member.owned)} topics; the pattern matches {len(wanted)} whole names",
        "assignment",
    )

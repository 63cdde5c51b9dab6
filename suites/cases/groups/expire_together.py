"""Members of many classic groups that are silent from one moment on."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance

GROUPS, LEFT, SESSION_MS, LONG_MS, WITHIN_S = 40, 10, 6_000, 600_000, 40


@case(
    "groups/members-of-many-groups-expire-together",
    guarantees=["grp-011", "grp-013"],
    apis={"JoinGroup": 1, "SyncGroup": 0, "Heartbeat": 0},
    detects=["B298"],
)
def all_who_are_silent_are_expelled(wire, rng):
    """Members whose sessions end at one moment MUST all be expelled, in whichever groups they are: groups of which
    somebody is left are called to join, the others are empty; and none that has time left is.

    40 groups of two members, whose sessions are of 6 s; of ten, drawn, one has a longer one.
    """
    stay = set(rng.sample(range(GROUPS), LEFT))
    pairs = []
    for number in range(GROUPS):
        group = wire.name("g")
        pairs.append(
            [
                wire.member(
                    group,
                    f"{group} {name}",
                    session_timeout_ms=LONG_MS if number in stay and name == "first" else SESSION_MS,
                    rebalance_timeout_ms=LONG_MS,
                )
                for name in ("first", "second")
            ]
        )
    for pair in pairs:
        rebalance(*pair)
    for answer in [_beats(wire, member) for pair in pairs for member in pair]:
        answer.must_succeed()
    for number, (first, _) in enumerate(pairs):
        if number in stay:
            _must_be_alone(wire, first)
        else:
            _must_be_empty(wire, first.group)
    for number in sorted(stay):
        pairs[number][0].heartbeat().must_succeed()


def _beats(wire, member):
    return wire.heartbeat(member.group, member.generation, member.id, via=member.name, wait=False)


def _must_be_alone(wire, member):
    member.await_rebalance(within=WITHIN_S)
    joined = member.join().must_succeed()
    joined.must(set(joined.members) == {member.id}, f"the generation has {sorted(joined.members)}", "members")
    rebalance(member)


def _must_be_empty(wire, group):
    def empty():
        answer = wire.describe_group(group).must_succeed()
        row = answer.struct.groups[0]
        answer.must(
            row.group_state in ("Empty", "Dead") and not row.members,
            f"{group} is {row.group_state} with {len(row.members)} members, which were all silent",
        )

    wire.eventually(empty, within=WITHIN_S)

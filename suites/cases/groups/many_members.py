"""Groups of many members, of both protocols: everybody has its share, whoever comes and goes together."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember
from brokertrial.wire import errors

CLASSIC_MEMBERS, CONSUMERS, COME, PARTITIONS, WITHIN_S, LONG_MS = 13, 50, 4, 120, 60, 120_000
OPAQUE = "opaque"
"""Of a kind that no broker reads."""
CLASSIC = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3}


@case(
    "groups/many-classic-members",
    guarantees=["grp-007", "grp-006", "grp-010", "grp-014"],
    apis=CLASSIC,
    detects=["B296"],
)
def each_of_many_is_brought_its_own(wire, group, rng):
    """However many members a classic group has, all that joined MUST be in one generation, its leader MUST be told of
    each with what it brought, and each MUST be brought its own assignment, byte for byte; when many leave and others
    come at a time, the next generation MUST have who is left and who came.

    13 members; half of them leave and four come, twice.
    """
    members = [_member(wire, group, number) for number in range(CLASSIC_MEMBERS)]
    _join_the_first(members)
    _must_be_brought_their_own(members)
    for turn in range(2):
        gone = rng.sample(members, len(members) // 2)
        come = [_member(wire, group, CLASSIC_MEMBERS + turn * COME + number) for number in range(COME)]
        for member in come:
            member.begin_join()
        for member in gone:
            member.leave().must_succeed()
        stay = [member for member in members if member not in gone]
        for member in stay:
            member.heartbeat().must_be_refused(errors.REBALANCE_IN_PROGRESS)
            member.begin_join()
        members = [*stay, *come]
        for member in members:
            member.finish_join().must_succeed()
        _must_be_brought_their_own(members)
        for member in gone[:3]:
            member.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)


def _join_the_first(members):
    """Nobody is in their generation before the first of them joins again."""
    first, *others = members
    first.join().must_succeed()
    for member in others:
        member.begin_join()
    first.await_rebalance()
    first.begin_join()
    for member in members:
        member.finish_join().must_succeed()


def _member(wire, group, number):
    return wire.member(
        group,
        f"{group} {number}",
        session_timeout_ms=LONG_MS,
        rebalance_timeout_ms=LONG_MS,
        protocol_type=OPAQUE,
        protocols=[("range", b"of %d" % number)],
    )


def _must_be_brought_their_own(members):
    leader = next(member for member in members if member.leads)
    told = {member_id: bytes(brought) for member_id, brought in leader.joined.members.items()}
    due = {member.id: dict(member.settings["protocols"])["range"] for member in members}
    others = sorted(set(told) ^ set(due))
    leader.joined.must(not others, f"the leader is sent {len(told)} members, not {len(due)}", "members")
    wrong = [name for name in due if told[name] != due[name]]
    leader.joined.must(not wrong, f"the metadata of {len(wrong)} members is not what they sent", "members")
    generations = {member.generation for member in members}
    leader.joined.must(len(generations) == 1, f"the members are in generations {generations}", "generation_id")
    given = {member.id: b"for %s" % member.id.encode() for member in members}
    waiting = [(member, member.sync(given if member is leader else None, wait=False)) for member in members]
    for member, answer in waiting:
        answer.must_bring(given[member.id])


@case(
    "groups/many-consumers",
    guarantees=["g848-005", "g848-002", "grp-001"],
    since="4.0 (KIP-848)",
    apis={"ConsumerGroupHeartbeat": 1, "ConsumerGroupDescribe": 0},
    features={"group.version": 1},
    needs=["partitions"],
    detects=["B297"],
)
def partitions_are_shared_among_many(wire, topic_of, group, rng):
    """However many members a KIP-848 group has, they MUST come to share its partitions evenly, and no partition MUST be
    owned by two of them at a time; also when many leave and others come at once.

    50 members and 120 partitions; half of them leave and four come, twice.
    """
    topic = topic_of(partitions=PARTITIONS, replicas=1)
    members = [ConsumerGroupMember(wire, group, topic) for _ in range(CONSUMERS)]
    _beat_until_shared(wire, members, rng)
    for _ in range(2):
        gone = rng.sample(members, len(members) // 2)
        come = [ConsumerGroupMember(wire, group, topic) for _ in range(COME)]
        for member in gone:
            member.leave().must_succeed()
        members = [*(member for member in members if member not in gone), *come]
        _beat_until_shared(wire, members, rng)


def _beat_until_shared(wire, members, rng):
    """In drawn orders; a partition that one was told to own has no other owner."""

    def shared():
        for member in rng.sample(members, len(members)):
            answer = member.beat().must_succeed()
            taken = [other for other in members if other is not member and other.owned & member.owned]
            answer.must(not taken, f"of the {len(member.owned)} partitions that it is assigned others own some")
        shares = [len(member.owned) for member in members]
        return sum(shares) == PARTITIONS and max(shares) - min(shares) < 2

    wire.until(shared, within=WITHIN_S, what=f"{len(members)} members share {PARTITIONS} partitions evenly")

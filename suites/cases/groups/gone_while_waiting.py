"""Members of a classic group that wait, for a generation or for their assignments, and of whom some hang up."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.coordinator_writes import make_coordinator_write
from brokertrial.wire import errors

MEMBERS, GONE, TURNS, SESSION_MS, LONG_MS, WITHIN_S = 9, 3, 2, 6_000, 60_000, 30
CLASSIC = {"JoinGroup": 4, "SyncGroup": 0, "Heartbeat": 0}
ONCE_S = 20


@case(
    "groups/who-waits-beside-the-gone",
    guarantees=["grp-010", "grp-007", "grp-013", "err-005"],
    apis=CLASSIC,
    detects=["B305", "B306"],
)
def the_other_members_are_answered(wire, rng):
    """Whoever waits in JoinGroup MUST be answered as soon as the generation is complete, and whoever waits in SyncGroup
    as soon as the leader has brought the assignments, or another member joins (27), whichever of those that waited
    beside it have lost their connections; who is gone MUST be left behind once its session is over.

    Nine members and four groups: in two of them three hang up in JoinGroup, in two in SyncGroup, before the leader
    brings the assignments or one more member joins, by draw.
    """
    for _ in range(TURNS):
        _in_join(wire, wire.name("g"), rng)
        _in_sync(wire, wire.name("g"), rng)


def _in_join(wire, group, rng):
    first, *others = [_member(wire, group, number) for number in range(MEMBERS)]
    first.join().must_succeed()
    for member in rng.sample(others, len(others)):
        member.begin_join()
    gone = rng.sample(others, GONE)
    _all_have_joined(wire, group)
    _hang_up(wire, gone)
    first.begin_join()
    stay = [member for member in (first, *others) if member not in gone]
    for member in stay:
        wire.at_once(member.joined, after=first.joined, hidden_s=ONCE_S)
        member.finish_join().must_have("generation_id", first.joined.generation)
    waiting = {member: member.sync(_given(first) if member is first else None, wait=False) for member in stay}
    for member, answer in waiting.items():
        answer.must_bring(member.id.encode())
    _must_be_left_behind(wire, first, stay)


def _in_sync(wire, group, rng):
    first, *others = [_member(wire, group, number) for number in range(MEMBERS)]
    first.join().must_succeed()
    for member in others:
        member.begin_join()
    _all_have_joined(wire, group)
    first.begin_join()
    for member in (first, *others):
        member.finish_join().must_succeed()
    waiting = {member: member.sync(wait=False) for member in rng.sample(others, len(others))}
    gone = rng.sample(others, GONE)
    for member in gone:
        waiting.pop(member).examined = True
    _hang_up(wire, gone)
    if rng.random() < 0.5:
        cause = first.sync(_given(first), wait=False)
        for member, answer in {**waiting, first: cause}.items():
            wire.at_once(answer, after=cause, hidden_s=ONCE_S)
            answer.must_bring(member.id.encode())
    else:
        new = _member(wire, group, MEMBERS)
        new.begin_join()
        for answer in waiting.values():
            wire.at_once(answer, after=new.joined, hidden_s=ONCE_S)
            answer.must_be_refused(errors.REBALANCE_IN_PROGRESS)
        stay = [new, first, *waiting]
        for member in stay[1:]:
            member.begin_join()
        for member in stay:
            member.finish_join().must_succeed()


def _member(wire, group, number):
    return wire.member(group, f"{group} {number}", session_timeout_ms=SESSION_MS, rebalance_timeout_ms=LONG_MS)


def _all_have_joined(wire, group):
    """Whatever the order in which their requests came."""

    def joined():
        make_coordinator_write(wire, group)
        answer = wire.describe_group(group)
        answer.examined = True
        return not answer.error and len(answer.struct.groups[0].members) == MEMBERS

    wire.until(joined, within=WITHIN_S, what=f"{MEMBERS} members have joined")


def _hang_up(wire, members):
    for member in members:
        if member.joined is not None:
            member.joined.examined = True
        wire.connect(member.name, wire.coordinator(member.group)).close()


def _given(leader):
    return {member_id: member_id.encode() for member_id in leader.joined.members}


def _must_be_left_behind(wire, first, stay):
    """Heartbeats go on until the group is called to join, for the sessions of those that have hung up are over."""

    def called():
        codes = {member.heartbeat().error for member in stay}
        return errors.REBALANCE_IN_PROGRESS in codes

    wire.until(called, within=WITHIN_S, what="the members that have hung up are expelled")

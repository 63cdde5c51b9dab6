"""Classic groups that may have so many members and no more, and that wait for company (group.max.size, KIP-134)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.preferred_leaders import await_leaders
from brokertrial.wire import errors

SIZE, DELAY = "group.max.size", "group.initial.rebalance.delay.ms"
LONG_MS, DELAY_MS, SHORT_MS, WITHIN_S = 60_000, 2_000, 2_700, 20
OPAQUE = {"protocol_type": "opaque", "session_timeout_ms": LONG_MS}
GROUPS = {"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0, "LeaveGroup": 0}


@case(
    "groups/no-more-than-may-be",
    guarantees=["grp-018", "grp-010"],
    apis=GROUPS,
    needs=["chosen-settings", "restart"],
    detects=["V86", "V87", "V88", "V89"],
)
def who_is_one_too_many_is_refused(wire, group, rng, nodes):
    """Where the size of a classic group is limited (group.max.size) one more member MUST be refused (81), in any
    version, and the group stays as it is; its members may join again. While members are called to join, the first ones
    MUST be accepted, a new one among them, and the last MUST be refused and dropped from the group; one that waits
    already may ask again. A group that is too large when its coordinator starts MUST be called to join.

    ClassicGroup of GroupMetadataManager.acceptJoiningMember: in a rebalance those who wait are counted.
    """
    _start_with(wire, nodes, {SIZE: "2"})
    first, second = (
        wire.member(group, name, rebalance_timeout_ms=LONG_MS, protocols=[("p", b"p")], **OPAQUE) for name in "ab"
    )
    rebalance(first, second, assignments=[b"of a", b"of b"])
    for _ in range(3):
        _is_refused(wire, group, rng)
    for member in (first, second):
        member.heartbeat().must_succeed()
    leads, follows = (first, second) if first.leads else (second, first)
    follows.begin_join()
    follows.finish_join().must_have("generation_id", leads.generation)

    leads.begin_join()
    follows.await_rebalance()
    new = wire.member(group, "c", rebalance_timeout_ms=LONG_MS, protocols=[("p", b"p")], **OPAQUE)
    new.begin_join()
    _must_have(wire, group, 3)
    _is_refused(wire, group, rng)
    last = wire.join_group(group, member_id=follows.id, via="last", protocols=[("p", b"p")], **OPAQUE)
    last.must_be_refused(errors.GROUP_MAX_SIZE_REACHED)
    follows.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)
    before = leads.generation
    _asks_again(leads).must_have("generation_id", before + 1)
    new.finish_join().must_have("generation_id", before + 1)
    brought = {leads.id: b"of one", new.id: b"of the other"}
    for member in sorted((leads, new), key=lambda each: not each.leads):
        member.sync(brought if member.leads else None).must_bring(brought[member.id])
    _is_refused(wire, group, rng)

    _start_with(wire, nodes, {SIZE: "1"})
    wire.eventually(lambda: leads.heartbeat().must_be_refused(errors.REBALANCE_IN_PROGRESS), within=WITHIN_S)
    new.leave().must_succeed()
    leads.join().must_have("generation_id", before + 2)
    leads.sync({leads.id: b"all"}).must_bring(b"all")
    _is_refused(wire, group, rng)


def _start_with(wire, nodes, settings):
    """Until nothing moves any more: a coordinator that moves answers the waiting JoinGroups with an error."""
    nodes.start_with(settings)
    await_leaders(wire)


def _asks_again(member):
    """It waits, and joins once more on another connection: answered at once where no other member is awaited."""
    member.joined.examined = True
    member.name += " again"
    member.begin_join()
    return member.finish_join()


def _is_refused(wire, group, rng):
    """One that is new, without an id."""
    version = rng.choice(list(wire.versions("JoinGroup")))
    instance = {"instance_id": "i9"} if version >= 5 and rng.random() < 0.5 else {}
    answer = wire.join_group(
        group, via=wire.name("late"), version=version, protocols=[("p", b"p")], **OPAQUE, **instance
    )
    answer.must_be_refused(errors.GROUP_MAX_SIZE_REACHED)
    answer.must_have("member_id", "")


def _must_have(wire, group, members):
    """A waiting member has arrived when DescribeGroups names it."""

    def check():
        answer = wire.describe_group(group).must_succeed()
        found = len(answer.struct.groups[0].members)
        answer.must(found == members, f"the group has {found} members; it must have {members}", "groups[0].members")

    wire.eventually(check, within=WITHIN_S)


@case(
    "groups/first-members-are-waited-for",
    guarantees=["grp-006", "grp-010"],
    apis=GROUPS,
    needs=["chosen-settings", "restart"],
    detects=["V90", "Z48"],
)
def a_group_that_grows_is_waited_for(wire, rng, nodes):
    """A classic group without members, whether it had some before or not, MUST wait for further members before its next
    generation, for group.initial.rebalance.delay.ms; where it is its first one and a member joined meanwhile, as long
    again each time, up to the rebalance timeout of its members; and all that joined are in that generation.

    DelayedJoin of an initial rebalance (KIP-134): one alone, some that join in time, and a shorter rebalance timeout;
    each in a new group, and again once all of its members have left. GroupMetadataManager notes new members of
    generation 0 alone.
    """
    _start_with(wire, nodes, {DELAY: str(DELAY_MS)})
    for timeout_ms, extra, waited_ms in ((LONG_MS, 0, DELAY_MS), (LONG_MS, 2, 2 * DELAY_MS), (SHORT_MS, 1, SHORT_MS)):
        group = wire.name("g")
        for life, due_ms in (("new", waited_ms), ("empty again", DELAY_MS)):
            members = [
                wire.member(
                    group, f"{group} {life} {n}", rebalance_timeout_ms=timeout_ms, protocols=[("p", b"p")], **OPAQUE
                )
                for n in range(1 + extra)
            ]
            with wire.part(f"{life}, {len(members)} members, rebalance timeout {timeout_ms} ms"):
                _must_wait(wire, members, due_ms)
            for member in members:
                member.leave().must_succeed()


def _must_wait(wire, members, due_ms):
    for member in members:
        member.begin_join()
    for member in members:
        answer = member.finish_join().must_succeed()
        answer.must_have("generation_id", members[0].generation)
    first = members[0].joined
    said = f"its first member waited {first.took_ms:.0f} ms; {due_ms} were to be waited for"
    first.must(first.took_ms >= due_ms - 50, said, "generation_id")
    if first.took_ms > due_ms + 1_000 * wire.slack_s:
        wire.too_late(said)
    roster = sorted(each.member_id for member in members if member.leads for each in member.joined.struct.members)
    first.must(roster == sorted(each.id for each in members), f"the generation has {roster}", "members")

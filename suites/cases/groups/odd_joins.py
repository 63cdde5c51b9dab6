"""Members that come under no id of the group, leave before they joined, or return in the middle of a rebalance."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

GROUPS = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3}
OPAQUE = {"protocol_type": "opaque"}
CODE = "error_code"


@case(
    "groups/joined-under-a-strange-id",
    guarantees=["grp-009", "grp-015"],
    apis=GROUPS,
    detects=["S01"],
)
def who_joins_under_an_id_that_the_group_does_not_have_is_refused(wire, group):
    """JoinGroup with a member id that the group does not have MUST be refused (25), with an instance id that another
    member holds MUST be refused (82), and the group MUST go on undisturbed; the same holds for a group without members
    and for one that does not exist.
    """
    static = wire.member(group, "static", **OPAQUE, instance_id="i")
    other = wire.member(group, "other", **OPAQUE)
    rebalance(static, other, assignments=[b"1", b"2"])
    for name, member_id, instance, code in (
        ("no member", "nobody", None, errors.UNKNOWN_MEMBER_ID),
        ("another's instance", other.id, "i", errors.FENCED_INSTANCE_ID),
        ("no instance", static.id, "j", errors.UNKNOWN_MEMBER_ID),
    ):
        with wire.part(name):
            joined = wire.join_group(group, member_id=member_id, instance_id=instance, **OPAQUE, via="odd", retry=False)
            joined.must_be_refused(code)
    for member, mine in ((static, b"1"), (other, b"2")):
        member.heartbeat().must_succeed()
        member.sync().must_bring(mine)

    ids = [static.id, other.id]
    static.leave().must_succeed()
    other.leave().must_succeed()
    absent = wire.name("absent")
    for name in (group, absent):
        with wire.part("without members" if name == group else "of no group"):
            for member_id in (*ids, "nobody"):
                wire.join_group(name, member_id=member_id, **OPAQUE, via="odd").must_be_refused(
                    errors.UNKNOWN_MEMBER_ID
                )
                wire.sync_group(name, 1, member_id, protocol_type="opaque").must_be_refused(errors.UNKNOWN_MEMBER_ID)
                wire.heartbeat(name, 1, member_id).must_be_refused(errors.UNKNOWN_MEMBER_ID)
                left = wire.leave_group(name, member_id)
                codes = [row.error_code for row in left.struct.members]
                left.must(codes == [errors.UNKNOWN_MEMBER_ID], f"the members' error codes are {codes}", "members")


@case(
    "groups/leaves-before-it-joins",
    guarantees=["grp-014", "grp-005"],
    apis=GROUPS,
    detects=["S02"],
)
def who_was_given_an_id_may_leave_without_joining(wire, group):
    """A member that was given an id (79) and leaves before it joins MUST be let go, and the next generation MUST NOT
    wait for it; its id is unknown from then on.
    """
    one, two = wire.member(group, "one", **OPAQUE), wire.member(group, "two", **OPAQUE)
    rebalance(one, two)
    guest = wire.member(group, "guest", **OPAQUE, session_timeout_ms=60_000)
    guest.reserve()
    if not guest.id or guest.generation >= 0:
        wire.not_applicable("the broker gives out no ids before a member joins")
    left = guest.leave()
    codes = [row.error_code for row in left.must_succeed().struct.members]
    left.must(codes == [0], f"its error codes are {codes}; it must be let go", "members")

    leader, follower = (one, two) if one.leads else (two, one)
    leader.begin_join()
    began = follower.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    follower.begin_join()
    for member in (one, two):
        wire.at_once(member.finish_join().must_succeed(), after=began, hidden_s=10)
    joined = wire.join_group(group, member_id=guest.id, **OPAQUE, via="guest")
    joined.must_be_refused(errors.UNKNOWN_MEMBER_ID)


@case(
    "groups/id-that-nobody-comes-with",
    guarantees=["grp-013", "grp-005"],
    apis=GROUPS,
    detects=["M27"],
)
def a_generation_does_not_wait_for_who_never_joins(wire, group):
    """A generation MAY wait for a member that was given an id (79) and has not joined, and MUST complete without it
    once the session timeout of that member is over.
    """
    one, two = wire.member(group, "one", **OPAQUE), wire.member(group, "two", **OPAQUE)
    for member in (one, two):
        member.settings.update(session_timeout_ms=60_000, rebalance_timeout_ms=60_000)
    rebalance(one, two)
    before = one.generation
    guest = wire.member(group, "guest", **OPAQUE, session_timeout_ms=6_000)
    guest.reserve()
    if not guest.id or guest.generation >= 0:
        wire.not_applicable("the broker gives out no ids before a member joins")
    leader, follower = (one, two) if one.leads else (two, one)
    leader.begin_join()
    follower.await_rebalance()
    follower.begin_join()
    for member in (one, two):
        joined = member.finish_join().must_have("generation_id", before + 1)
        wire.at_once(joined, asked_s=6.0, hidden_s=50)
    roster = leader.joined.members if leader.leads else follower.joined.members
    wire.must(sorted(roster) == sorted((one.id, two.id)), f"the generation holds {sorted(roster)}", leader.joined)
    wire.join_group(group, member_id=guest.id, **OPAQUE, via="guest").must_be_refused(errors.UNKNOWN_MEMBER_ID)


@case(
    "groups/leaves-while-it-waits",
    guarantees=["grp-014", "grp-013", "grp-010"],
    apis=GROUPS,
    detects=["S16"],
)
def who_leaves_while_it_waits_is_answered(wire, group):
    """A member that waits for a generation and leaves by another connection MUST be answered at once (25), and the
    others MUST go on to a generation without it.
    """
    one, two = wire.member(group, "one", **OPAQUE), wire.member(group, "two", **OPAQUE)
    rebalance(one, two)
    three = wire.member(group, "three", **OPAQUE)
    three.begin_join()
    one.await_rebalance()
    left = wire.leave_group(group, three.id, via="another").must_succeed()
    refused = three.joined
    wire.at_once(refused.must_be_refused(errors.UNKNOWN_MEMBER_ID), after=left, hidden_s=10)
    for member in (one, two):
        member.begin_join()
    for member in (one, two):
        member.finish_join().must_succeed()
    leader = one if one.leads else two
    roster = leader.joined.members
    wire.must(sorted(roster) == sorted((one.id, two.id)), f"the generation holds {sorted(roster)}", leader.joined)
    wire.heartbeat(group, leader.generation, three.id).must_be_refused(errors.UNKNOWN_MEMBER_ID)


@case(
    "groups/static-member-returns-in-a-rebalance",
    guarantees=["grp-015", "grp-010"],
    apis=GROUPS,
    detects=["P44"],
)
def a_static_member_that_returns_in_a_rebalance_is_in_the_next_generation_once(wire, group):
    """A static member that begins again while the group rebalances MUST take its own place: what its id of before
    waits for is answered as fenced (82), and the next generation holds the instance once, under the new id.
    """
    static, other = wire.member(group, "static", **OPAQUE, instance_id="i"), wire.member(group, "other", **OPAQUE)
    rebalance(static, other)
    before, old = static.generation, static.id
    third = wire.member(group, "third", **OPAQUE)
    third.begin_join()
    static.await_rebalance()
    static.begin_join()
    waiting = static.joined
    again = wire.member(group, "again", **OPAQUE, instance_id="i")
    again.begin_join()
    waiting.must_be_refused(errors.FENCED_INSTANCE_ID)
    other.begin_join()
    for member in (again, other, third):
        member.finish_join().must_have("generation_id", before + 1)
    members = [again, other, third]
    leader = next(member for member in members if member.leads)
    roster = leader.joined.members
    wire.must(sorted(roster) == sorted(member.id for member in members), f"it holds {sorted(roster)}", leader.joined)
    wire.must(again.id != old, "the member that came back has the id of before", again.joined)
    given = {member.id: member.name.encode() for member in members}
    synced = [member.sync(given if member is leader else None, wait=False) for member in members]
    for member, answer in zip(members, synced, strict=True):
        answer.must_bring(member.name.encode())
    wire.heartbeat(group, before + 1, old, instance_id="i").must_be_refused(errors.FENCED_INSTANCE_ID)

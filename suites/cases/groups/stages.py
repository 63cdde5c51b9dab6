"""A classic group at each stage of a rebalance: what it says of itself, what its members may ask of it."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import join_together, rebalance
from brokertrial.wire import errors

GROUPS = {"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}
OPAQUE = {"protocol_type": "opaque"}
ROW = "groups[0]"


@case(
    "groups/described-at-each-stage",
    guarantee="grp-020",
    apis={**GROUPS, "DescribeGroups": 0, "LeaveGroup": 0},
    detects=["P40", edit_answer("groups[].group_state", set="Stable", api="DescribeGroups")],
)
def a_group_is_described_at_each_stage(wire, group):
    """DescribeGroups MUST return the state of the group and its members: PreparingRebalance until all joined,
    CompletingRebalance until the leader has synced, Stable with each member's assignment, Empty when all have left.
    """
    one, two, three = (wire.member(group, name, **OPAQUE, protocols=[("p", name.encode())]) for name in ("a", "b", "c"))
    rebalance(one, two, assignments=[b"of a", b"of b"])
    _must_be(wire, group, "Stable", {one.id: (b"a", b"of a"), two.id: (b"b", b"of b")}, protocol="p")

    three.begin_join()
    one.await_rebalance()
    _must_be(wire, group, "PreparingRebalance", {one.id: (b"", None), two.id: (b"", None), three.id: (b"", None)})
    for member in (one, two):
        member.begin_join()
    for member in (one, two, three):
        member.finish_join().must_succeed()
    _must_be(wire, group, "CompletingRebalance", {one.id: (b"", None), two.id: (b"", None), three.id: (b"", None)})

    leader = next(member for member in (one, two, three) if member.leads)
    given = {one.id: b"1", two.id: b"2", three.id: b"3"}
    answers = [member.sync(given if member is leader else None, wait=False) for member in (leader, one, two, three)]
    for answer in answers:
        answer.must_succeed()
    wanted = {one.id: (b"a", b"1"), two.id: (b"b", b"2"), three.id: (b"c", b"3")}
    _must_be(wire, group, "Stable", wanted, protocol="p")
    for member in (one, two, three):
        member.leave().must_succeed()
    _must_be(wire, group, "Empty", {})


@case(
    "groups/asked-at-each-stage",
    guarantees=["grp-009", "grp-010", "grp-027"],
    apis=GROUPS,
    detects=[edit_answer("error_code", set=0, api=("Heartbeat", "SyncGroup"))],
)
def what_a_member_may_ask_at_each_stage(wire, group):
    """SyncGroup MUST be refused (27) while others have not joined again, like a heartbeat; between the new generation
    and its assignment a heartbeat MUST be accepted; and the generation before MUST be refused (22) from then on.
    """
    one, two = wire.member(group, "one"), wire.member(group, "two")
    rebalance(one)
    before = one.generation
    two.begin_join()
    one.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    one.sync().must_be_refused(errors.REBALANCE_IN_PROGRESS)

    one.begin_join()
    for member in (one, two):
        member.finish_join().must_succeed()
        member.heartbeat().must_succeed()
    one.heartbeat(generation=before).must_be_refused(errors.ILLEGAL_GENERATION)
    one.sync(generation=before).must_be_refused(errors.ILLEGAL_GENERATION)

    leader, other = (one, two) if one.leads else (two, one)
    leader.sync({one.id: b"1", two.id: b"2"}).must_bring(b"1" if one.leads else b"2")
    other.sync().must_bring(b"2" if one.leads else b"1")
    for member in (one, two):
        member.heartbeat().must_succeed()
    one.heartbeat(generation=before).must_be_refused(errors.ILLEGAL_GENERATION)


@case(
    "groups/assignment-said-twice",
    guarantee="grp-007",
    apis=GROUPS,
    detects=["Q06"],
)
def the_first_assignment_of_a_generation_stays(wire, group):
    """In a generation that has its assignment, SyncGroup MUST return to each member its first assignment, though the
    leader sends another; a member for which the leader sent nothing MUST be given no bytes, and stays.
    """
    members = [wire.member(group, name) for name in ("a", "b", "c")]
    leader = join_together(*members)
    given = {member.id: member.name.encode() for member in members[:2]}
    answers = [(leader, leader.sync(given))]
    answers += [(member, member.sync()) for member in members if member is not leader]
    for member, answer in answers:
        answer.must_bring(given.get(member.id, b""))
    leader.sync({member.id: b"another" for member in members}).must_bring(given.get(leader.id, b""))
    for member in members:
        member.sync().must_bring(given.get(member.id, b""))
        member.heartbeat().must_succeed()


@case(
    "groups/leader-leaves",
    guarantees=["grp-006", "grp-007", "grp-014"],
    apis={**GROUPS, "LeaveGroup": 0},
    detects=["M27"],
)
def another_leads_when_the_leader_leaves(wire, group):
    """When the leader leaves, one of the remaining members MUST lead the next generation, which is one higher, and it
    alone MUST be given the metadata of all members; a member that leaves twice MUST be refused with UNKNOWN_MEMBER_ID
    (25).
    """
    members = [wire.member(group, name, **OPAQUE, protocols=[("p", name.encode())]) for name in ("a", "b", "c")]
    leader = rebalance(*members)
    before = leader.generation
    leader.leave().must_succeed()
    leader.leave().must_be_refused(errors.UNKNOWN_MEMBER_ID)
    leader.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)
    left = [member for member in members if member is not leader]
    for member in left:
        member.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
        member.begin_join()
    for member in left:
        member.finish_join().must_have("generation_id", before + 1)
    leading = [member for member in left if member.leads]
    wire.must(len(leading) == 1, f"{len(leading)} of the two members that stayed are named as leader")
    wanted = {member.id: member.name.encode() for member in left}
    joined = leading[0].joined
    joined.must(joined.members == wanted, "the new leader must be sent both who stayed, and no other", "members")
    follower = next(member for member in left if not member.leads)
    follower.joined.must(not follower.joined.members, "members are for the leader alone", "members")


def _must_be(wire, group, state, members, protocol=""):
    """State, protocol, and of each member what it brought and was given (None: not judged)."""
    answer = (
        wire.describe_group(group).must_have(f"{ROW}.group_state", state).must_have(f"{ROW}.protocol_data", protocol)
    )
    found = {
        row.member_id: (
            bytes(row.member_metadata),
            None if members.get(row.member_id, (0, None))[1] is None else bytes(row.member_assignment),
        )
        for row in answer.at(f"{ROW}.members")
    }
    answer.must(found == members, f"the members are {found}; they must be {members}", f"{ROW}.members")

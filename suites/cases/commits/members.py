"""Who may commit for a group, and when (consumer group protocol, KIP-122)."""

from faults.kinds import edit_answer
from suites.case import case
from suites.probe import rebalance
from wire import errors

COMMITS = {"OffsetCommit": 2, "OffsetFetch": 2, "JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}


@case("commits/lower-offset", guarantee="cmt-008", apis={**COMMITS, "LeaveGroup": 0}, smoke=True, fails_on=["M28b"])
def a_lower_offset_is_stored(wire, topic, group):
    """A commit of a lower offset MUST be stored, from a member as from an administrator once the group has none."""
    member = wire.member(group)
    rebalance(member)
    for offset in (100, 10):
        member.commit(topic, offset=offset).must_succeed()
        wire.committed(group, topic).must_be(offset)
    member.leave().must_succeed()
    wire.committed(group, topic).must_be(10)
    wire.commit(group, topic, offset=5).must_succeed()
    wire.committed(group, topic).must_be(5)


@case(
    "commits/while-rebalancing",
    guarantee="cmt-011",
    apis=COMMITS,
    fails_on=[edit_answer("topics[].partitions[].error_code", set=0, api="OffsetCommit")],
)
def commits_are_taken_until_the_new_generation_is_there(wire, topic, group):
    """A member's commit SHOULD be taken while the others are awaited to join again, and refused with
    REBALANCE_IN_PROGRESS (27) between the new generation and its assignment.
    """
    member, comes = wire.member(group, "member"), wire.member(group, "comes")
    rebalance(member)
    member.commit(topic, offset=1).must_succeed()

    comes.begin_join()
    member.await_rebalance()
    member.commit(topic, offset=2).must_succeed()

    member.begin_join()
    for each in (member, comes):
        each.finish_join().must_succeed()
    member.commit(topic, offset=3).must_be_refused(errors.REBALANCE_IN_PROGRESS)
    wire.committed(group, topic).must_be(2)

    leader, other = (member, comes) if member.leads else (comes, member)
    leader.sync({other.id: b"other"}).must_succeed()
    other.sync().must_bring(b"other")
    member.commit(topic, offset=4).must_succeed()


@case(
    "commits/from-outside",
    guarantee="cmt-012",
    apis=COMMITS,
    fails_on=[edit_answer("topics[].partitions[].error_code", set=0, api="OffsetCommit")],
)
def a_commit_from_outside_needs_a_group_without_members(wire, topic, group):
    """A commit without member and generation MUST be taken for a group that has no members, and refused with
    UNKNOWN_MEMBER_ID (25) for one that has, whose offsets stay as they are.
    """
    wire.commit(group, topic, offset=5).must_succeed()
    wire.committed(group, topic).must_be(5)

    member = wire.member(group)
    rebalance(member)
    wire.commit(group, topic, offset=6).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    wire.committed(group, topic).must_be(5)
    member.commit(topic, offset=7).must_succeed()
    wire.committed(group, topic).must_be(7)

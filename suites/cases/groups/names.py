"""Group ids: the empty one, and groups that have nothing to do with each other."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch, rebalance
from brokertrial.wire import errors

GROUPS = {"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}


@case(
    "groups/empty-id",
    guarantee="grp-022",
    apis={**GROUPS, "LeaveGroup": 0},
    detects=[edit_answer("error_code", set=errors.UNKNOWN_MEMBER_ID, api=("Heartbeat", "SyncGroup"))],
)
def no_group_has_an_empty_id(wire, topic):
    """JoinGroup, SyncGroup, Heartbeat and LeaveGroup with an empty group id SHOULD be refused with INVALID_GROUP_ID
    (24), while offsets may be committed and fetched under it.
    """
    wire.join_group("").must_be_refused(errors.INVALID_GROUP_ID)
    wire.sync_group("", 1, "member").must_be_refused(errors.INVALID_GROUP_ID)
    wire.heartbeat("", 1, "member").must_be_refused(errors.INVALID_GROUP_ID)
    wire.leave_group("", "member").must_be_refused(errors.INVALID_GROUP_ID)

    wire.commit("", topic, offset=5).must_succeed()
    wire.committed("", topic).must_be(5)


@case(
    "groups/independent",
    guarantee="grp-003",
    apis={**GROUPS, "OffsetCommit": 2, "OffsetFetch": 1},
    smoke=True,
    detects=[edit_answer("groups[].topics[].partitions[].committed_offset", set=1, api="OffsetFetch")],
)
def groups_have_nothing_to_do_with_each_other(wire, topic, group):
    """Each group MUST be able to read every record whatever other groups have read, its offsets MUST be its own, and a
    rebalance of another group MUST NOT affect it.
    """
    wire.produce(topic, batch("a", "b", "c"))
    groups = [group, wire.name("g"), wire.name("g")]
    members = [wire.member(name, f"of {number}") for number, name in enumerate(groups)]
    for number, member in enumerate(members):
        rebalance(member)
        member.commit(topic, offset=number).must_succeed()

    for number, name in enumerate(groups):
        position = wire.committed(name, topic).must_be(number).offset
        wire.fetch(topic, offset=position).must_reach(2)
    members[1].leave().must_succeed()
    for member in (members[0], members[2]):
        member.heartbeat().must_succeed()

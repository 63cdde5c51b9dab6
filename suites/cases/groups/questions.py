"""What the broker says of groups when it is asked, and how groups are removed."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors

GROUPS = {"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}
ROW = "groups[0]"


@case(
    "groups/listed-once",
    guarantee="grp-020",
    apis={**GROUPS, "ListGroups": 4},
    detects=[edit_answer("groups[]", repeat=True, api="ListGroups")],
)
def each_group_is_listed_once_with_its_state(wire, topic, group):
    """ListGroups over all brokers MUST show each group exactly once, with the state that it is in."""
    empty = wire.name("empty")
    wire.commit(empty, topic, offset=5)
    member = wire.member(group)
    member.join().must_succeed()
    member.sync({member.id: b"all"}).must_succeed()

    answers = [wire.list_groups(to=node) for node in wire.nodes]
    rows = [row for answer in answers for row in answer.must_succeed().struct.groups]
    listed = sorted((row.group_id, row.group_state) for row in rows if row.group_id in (group, empty))
    wanted = sorted([(group, "Stable"), (empty, "Empty")])
    wire.must(listed == wanted, f"the groups and states listed are {listed}; they must be {wanted}", *answers)


@case(
    "groups/described",
    guarantee="grp-020",
    apis={**GROUPS, "DescribeGroups": 0, "LeaveGroup": 0},
    detects=[edit_answer("groups[].members[].member_assignment", cut=1, api="DescribeGroups")],
)
def a_group_is_described_as_it_is(wire, group):
    """DescribeGroups MUST return state, protocol and members of a group with their metadata and assignments; a group
    that does not exist is Dead, without an error up to v5.
    """
    newest = max(wire.versions("DescribeGroups"))
    absent = wire.describe_group(group, version=min(newest, 5))
    absent.must_have(f"{ROW}.error_code", 0).must_have(f"{ROW}.group_state", "Dead")
    if newest > 5:
        row = wire.describe_group(group).struct.groups[0]
        wire.must(
            row.group_state == "Dead" and row.error_code in (0, errors.GROUP_ID_NOT_FOUND),
            f"an absent group is {row.group_state!r} with error {row.error_code}; it must be Dead with 0 or 69",
        )

    member = wire.member(group, protocol_type="opaque", protocols=[("p", b"metadata")])
    member.join().must_succeed()
    member.sync({member.id: b"assignment"}).must_succeed()
    answer = wire.describe_group(group)
    for field, value in (
        ("group_state", "Stable"),
        ("protocol_type", "opaque"),
        ("protocol_data", "p"),
        ("members[0].member_id", member.id),
        ("members[0].member_metadata", b"metadata"),
        ("members[0].member_assignment", b"assignment"),
    ):
        answer.must_have(f"{ROW}.{field}", value)

    member.leave().must_succeed()
    wire.describe_group(group).must_have(f"{ROW}.group_state", "Empty").must_have(f"{ROW}.members", [])


@case(
    "groups/deleted",
    guarantee="grp-021",
    apis={**GROUPS, "DeleteGroups": 0},
    detects=[edit_answer("results[].error_code", set=0, api="DeleteGroups")],
)
def only_a_group_without_members_can_be_deleted(wire, topic, group):
    """DeleteGroups MUST refuse a group with members (68) and one that does not exist (69); one without members goes,
    and its offsets with it.
    """
    empty = wire.name("empty")
    wire.commit(empty, topic, offset=5)
    member = wire.member(group)
    member.join().must_succeed()
    member.sync({member.id: b"all"}).must_succeed()
    member.commit(topic, offset=6).must_succeed()

    wire.delete_groups(group).must_be_refused(errors.NON_EMPTY_GROUP)
    wire.delete_groups(wire.name("absent")).must_be_refused(errors.GROUP_ID_NOT_FOUND)
    wire.delete_groups(empty).must_succeed()

    wire.committed(empty, topic).must_be(-1)
    wire.committed(group, topic).must_be(6)
    member.heartbeat().must_succeed()
    wire.delete_groups(empty).must_be_refused(errors.GROUP_ID_NOT_FOUND)

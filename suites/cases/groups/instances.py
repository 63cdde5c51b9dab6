"""Three static members: they return, change places, leave one by one, fall silent (KIP-345)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors
from brokertrial.wire.messages import request

STATIC = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3}
ROW = "groups[0]"
LEAST = "group.min.session.timeout.ms"


@case(
    "groups/all-static-members-return",
    guarantee="grp-015",
    apis={**STATIC, "DescribeGroups": 4},
    detects=["P43", edit_answer("generation_id", add=1, api="JoinGroup", skip=6)],
)
def each_static_member_returns_to_its_own(wire, group):
    """Each static member that returns, the leader too, MUST get the assignment of its own instance back in the same
    generation; no other member is called to join again, and the group holds each instance once.
    """
    names = ["i-1", "i-2", "i-3"]
    members = {name: wire.member(group, name, instance_id=name) for name in names}
    rebalance(*members.values(), assignments=[name.encode() for name in names])
    generation, old = members["i-1"].generation, dict(members)
    for name in names:
        again = wire.member(group, f"{name} again", instance_id=name)
        again.join().must_have("generation_id", generation)
        again.sync().must_bring(name.encode())
        members[name] = again
        for each in members.values():
            each.heartbeat().must_succeed()
        old[name].heartbeat().must_be_refused(errors.FENCED_INSTANCE_ID)
    answer = wire.describe_group(group).must_have(f"{ROW}.group_state", "Stable")
    found = {
        row.group_instance_id: (row.member_id, bytes(row.member_assignment)) for row in answer.at(f"{ROW}.members")
    }
    wanted = {name: (members[name].id, name.encode()) for name in names}
    answer.must(
        found == wanted and len(answer.at(f"{ROW}.members")) == 3,
        f"the instances are {found}; they must be {wanted}",
        f"{ROW}.members",
    )


@case(
    "groups/instances-leave-in-part",
    guarantees=["grp-014", "grp-015"],
    apis={**STATIC, "DescribeGroups": 4},
    detects=["P44", "N05", edit_answer("members[].error_code", set=0, api="LeaveGroup")],
)
def who_is_named_wrongly_does_not_leave(wire, group):
    """Of the members that one LeaveGroup names, those named correctly MUST leave; an instance with the member id of
    another MUST be refused (82) and an unknown one (25), and the remaining members MUST be in the next generation.
    """
    stays, *static = [wire.member(group, name, instance_id=name) for name in ("i-1", "i-2", "i-3")]
    rebalance(stays, *static)
    two, three = static
    rows = [
        {"member_id": two.id, "group_instance_id": "i-2"},
        {"member_id": two.id, "group_instance_id": "i-1"},
        {"member_id": "", "group_instance_id": "i-9"},
        {"member_id": "", "group_instance_id": "i-3"},
    ]
    answer = wire.ask(request("LeaveGroup", group_id=group, members=rows), to=wire.coordinator(group))
    codes = [row.error_code for row in answer.struct.members]
    wanted = [0, errors.FENCED_INSTANCE_ID, errors.UNKNOWN_MEMBER_ID, 0]
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "members")

    for gone in (two, three):
        gone.heartbeat().must_be_refused(errors.UNKNOWN_MEMBER_ID)
    stays.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    joined = stays.join().must_succeed()
    joined.must(set(joined.members) == {stays.id}, "only the member that was named wrongly is left", "members")


@case(
    "groups/static-and-silent",
    guarantees=["grp-011", "grp-015", "grp-024"],
    apis={**STATIC, "OffsetCommit": 7, "OffsetFetch": 5},
    detects=["M26"],
)
def a_silent_static_member_is_a_stranger_when_it_returns(wire, topic, group):
    """A static member that is silent for its session timeout MUST be expelled like any other: its late commit is
    refused (25) and moves nothing, and its instance, when it returns, is a new member after a rebalance.
    """
    wire.needs_setting(LEAST, at_most=6_000)
    session_ms = max(2_000, int(wire.setting(LEAST) or 6_000))
    stays = wire.member(group, "stays")
    silent = wire.member(group, "silent", instance_id="i-1", session_timeout_ms=session_ms)
    rebalance(stays, silent, assignments=[b"mine", b"the silent one's"])
    silent.commit(topic, offset=3).must_succeed()
    before = stays.generation

    stays.await_rebalance(within=session_ms / 1000 + 5).must_be_refused(errors.REBALANCE_IN_PROGRESS)
    silent.commit(topic, offset=5).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    joined = stays.join().must_have("generation_id", before + 1)
    joined.must(set(joined.members) == {stays.id}, "the silent member must be gone", "members")
    stays.sync({stays.id: b"all"}).must_bring(b"all")
    stays.commit(topic, offset=4).must_succeed()
    silent.commit(topic, offset=6).must_be_refused(errors.UNKNOWN_MEMBER_ID)
    wire.committed(group, topic).must_be(4)

    again = wire.member(group, "again", instance_id="i-1")
    rebalance(stays, again, assignments=[b"half", b"the other half"])
    wire.must(again.generation > before + 1, f"the generation is {again.generation}: it came back without a rebalance")
    silent.heartbeat().must_be_refused(errors.FENCED_INSTANCE_ID)

"""Generations of a classic group: its members, and what JoinGroup and SyncGroup return to them (consumer group
protocol).
"""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import join_together, rebalance
from brokertrial.wire import errors

GROUPS = {"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}


@case("groups/each-its-own-assignment", guarantees=["grp-001", "grp-007"], apis=GROUPS, smoke=True, detects=["M24a"])
def each_member_is_handed_its_own_bytes(wire, group, rng):
    """Only the leader MUST be given the members' metadata, and SyncGroup MUST hand each member exactly the bytes that
    the leader sent for it in this generation. Both are opaque to the broker.

    Random bytes under a protocol type that no broker knows, twice, so that an assignment of the generation before is
    seen.
    """
    members = [wire.member(group, name, protocol_type="opaque", protocols=[("p", rng.randbytes(24))]) for name in "abc"]
    for _ in range(2):
        leader = join_together(*members)
        wanted = {member.id: member.settings["protocols"][0][1] for member in members}
        joined = leader.finish_join()
        joined.must(joined.members == wanted, "it must name each member and its metadata", "members")
        for member in members:
            if member is not leader:
                member.joined.must(not member.joined.members, "members are for the leader alone", "members")

        assigned = {member.id: rng.randbytes(16) for member in members}
        synced = [member.sync(assigned if member is leader else None, wait=False) for member in members]
        for member, answer in zip(members, synced, strict=True):
            answer.must_bring(assigned[member.id])


@case("groups/generation-counts", guarantee="grp-006", apis=GROUPS, smoke=True, detects=["M27", "M27b"])
def each_rebalance_raises_the_generation_by_one(wire, group):
    """Each completed rebalance MUST raise the generation by one, and MUST return the same generation to all its
    members.
    """
    first, second = wire.member(group, "first"), wire.member(group, "second")
    first.join().must_succeed()
    first.sync({first.id: b"all"}).must_succeed()
    began = first.generation

    second.begin_join()
    first.await_rebalance()
    first.begin_join()
    for member in (first, second):
        member.finish_join().must_have("generation_id", began + 1)
    leader = first if first.leads else second
    synced = [member.sync({} if member is leader else None, wait=False) for member in (first, second)]
    for answer in synced:
        answer.must_succeed()

    second.leave().must_succeed()
    first.await_rebalance()
    first.join().must_have("generation_id", began + 2)


@case(
    "groups/common-protocol",
    guarantee="grp-008",
    apis=GROUPS,
    detects=[edit_answer("protocol_name", set="a", api="JoinGroup")],
)
def the_protocol_is_one_that_all_support(wire, group):
    """The protocol of a generation MUST be one that all members support, and of those the one that most prefer."""
    wishes = (("a", "b"), ("b", "a"), ("b", "c"))
    members = [
        wire.member(group, f"m{number}", protocol_type="opaque", protocols=[(name, name.encode()) for name in names])
        for number, names in enumerate(wishes)
    ]
    leader = join_together(*members)
    for member in members:
        member.finish_join().must_have("protocol_name", "b")
    answer = leader.finish_join()
    answer.must(set(answer.members.values()) == {b"b"}, "the metadata must be those for protocol b", "members")


@case(
    "groups/no-common-protocol",
    guarantee="grp-008",
    apis=GROUPS,
    detects=[edit_answer("error_code", set=0, api="JoinGroup", fields={"protocol_type": "other"})],
)
def who_shares_no_protocol_is_refused(wire, group):
    """A member that shares no protocol with the group, or comes with another protocol type, MUST be refused (23), and
    the group MUST go on undisturbed.
    """
    member = wire.member(group, "member", protocols=[("range", b"")])
    member.join().must_succeed()
    member.sync({member.id: b"mine"}).must_succeed()

    for name, settings in (
        ("no protocol of ours", {"protocols": [("z", b"")]}),
        ("another type", {"protocols": [("range", b"")], "protocol_type": "other"}),
    ):
        wire.member(group, name, **settings).join().must_be_refused(errors.INCONSISTENT_GROUP_PROTOCOL)

    member.heartbeat().must_succeed()
    member.sync().must_bring(b"mine")


@case("groups/no-protocol-for-all", guarantee="grp-008", apis=GROUPS, detects=["K13"])
def who_shares_a_protocol_with_each_and_none_with_all_is_refused(wire, group):
    """A member that shares a protocol with each of the members, and none with all of them, MUST be refused (23), and
    the generation MUST go on with the protocol that it has.
    """
    wishes = {"one": ("a", "b"), "two": ("b", "c")}
    members = [
        wire.member(group, name, protocols=[(each, each.encode()) for each in names]) for name, names in wishes.items()
    ]
    rebalance(*members, assignments=[b"first", b"second"])

    third = wire.member(group, "third", protocols=[("a", b"a"), ("c", b"c")])
    third.join().must_be_refused(errors.INCONSISTENT_GROUP_PROTOCOL)
    for member, mine in zip(members, (b"first", b"second"), strict=True):
        member.heartbeat().must_succeed()
        member.sync().must_bring(mine)

"""Who counts as a member of a classic group, and how unknown members are refused."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.wire import errors

GROUPS = {"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}
OPAQUE = {"protocol_type": "opaque", "protocols": [("p", b"a subscription")]}


@case(
    "groups/id-first",
    guarantee="grp-005",
    apis={**GROUPS, "JoinGroup": 4},
    detects=[edit_answer("member_id", set="same", api="JoinGroup")],
)
def a_member_without_an_id_is_given_one_first(wire, group):
    """JoinGroup v4 and later without a member id MUST be refused with MEMBER_ID_REQUIRED (79) and an id of its own, and
    with that id the member MUST be accepted.
    """
    given, joined = _given_and_joined(wire, group)
    if joined.error == errors.UNKNOWN_MEMBER_ID:
        # Ids that no member joined with are kept in memory alone, and Kafka up to 3.9 drops an empty group with them
        # when it looks for expired offsets (GroupMetadataManager.cleanupGroupMetadata): a client begins again.
        given, joined = _given_and_joined(wire, wire.name("g"), "-again")
    joined.must_succeed().must_have("member_id", given)


def _given_and_joined(wire, group, again=""):
    """The id that the first of two members was given, and the answer to its JoinGroup with it."""
    given: dict[str, str] = {}
    for name in ("first" + again, "second" + again):
        answer = wire.join_group(group, via=name).must_be_refused(errors.MEMBER_ID_REQUIRED)
        answer.must(bool(answer.member_id), "it gives no member id", "member_id")
        answer.must(answer.member_id not in given.values(), "it gives an id that another was given", "member_id")
        given[name] = answer.member_id

    joined = [wire.join_group(group, member_id=member_id, via=name, wait=False) for name, member_id in given.items()]
    return given["first" + again], joined[0]


@case(
    "groups/strangers-and-old-generations",
    guarantee="grp-009",
    apis={**GROUPS, "OffsetCommit": 2, "LeaveGroup": 0},
    smoke=True,
    detects=["M23"],
)
def strangers_and_old_generations_are_refused(wire, topic, group):
    """Heartbeat, SyncGroup and OffsetCommit MUST be refused with ILLEGAL_GENERATION (22) for a generation that is not
    the group's, and, like LeaveGroup, with UNKNOWN_MEMBER_ID (25) for a member that it does not have.
    """
    member = wire.member(group)
    member.join().must_succeed()
    member.sync({member.id: b"mine"}).must_succeed()

    now = member.generation
    for generation in (now + 1, now - 1):
        with wire.part("Heartbeat"):
            member.heartbeat(generation=generation).must_be_refused(errors.ILLEGAL_GENERATION)
        with wire.part("SyncGroup"):
            member.sync(generation=generation).must_be_refused(errors.ILLEGAL_GENERATION)
        with wire.part("OffsetCommit"):
            member.commit(topic, offset=5, generation=generation).must_be_refused(errors.ILLEGAL_GENERATION)

    with wire.part("Heartbeat of a stranger"):
        wire.heartbeat(group, now, "stranger").must_be_refused(errors.UNKNOWN_MEMBER_ID)
    with wire.part("SyncGroup of a stranger"):
        wire.sync_group(group, now, "stranger").must_be_refused(errors.UNKNOWN_MEMBER_ID)
    with wire.part("OffsetCommit of a stranger"):
        commit = wire.commit(group, topic, offset=5, member_id="stranger", generation=now)
        commit.must_be_refused(errors.UNKNOWN_MEMBER_ID)
    with wire.part("LeaveGroup of a stranger"):
        wire.leave_group(group, "stranger").must_be_refused(errors.UNKNOWN_MEMBER_ID)

    wire.committed(group, topic).must_be(-1)
    member.heartbeat().must_succeed()
    member.sync().must_bring(b"mine")


@case(
    "groups/rebalance-is-signalled",
    guarantee="grp-010",
    apis={**GROUPS, "LeaveGroup": 0},
    detects=[edit_answer("error_code", set=0, api="Heartbeat")],
)
def members_learn_of_a_rebalance_by_heartbeat(wire, group):
    """When a member joins, leaves or changes its subscription, the heartbeats of the others MUST be answered with
    REBALANCE_IN_PROGRESS (27).
    """
    first, second, third = (wire.member(group, name, **OPAQUE) for name in ("first", "second", "third"))
    rebalance(first, second)

    third.begin_join()
    for member in (first, second):
        member.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
        member.begin_join()
    for member in (first, second, third):
        member.finish_join().must_succeed()

    third.leave().must_succeed()
    first.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    rebalance(first, second)

    second.settings["protocols"] = [("p", b"another subscription")]
    second.begin_join()
    first.await_rebalance().must_be_refused(errors.REBALANCE_IN_PROGRESS)


@case(
    "groups/several-leave-at-once",
    guarantee="grp-014",
    apis={**GROUPS, "JoinGroup": 5, "LeaveGroup": 3},
    detects=[edit_answer("members[].error_code", set=0, api="LeaveGroup")],
)
def several_members_leave_in_one_request(wire, group):
    """LeaveGroup v3 and later MUST remove each member that it names, by id or by instance id, with a result for each,
    25 for an unknown member, and the next heartbeat of the others MUST be answered with REBALANCE_IN_PROGRESS.
    """
    stays, goes = wire.member(group, "stays"), wire.member(group, "goes")
    static = [wire.member(group, name, instance_id=name) for name in ("i-1", "i-2")]
    rebalance(stays, goes, *static)

    answer = wire.leave_group(group, goes.id, "stranger", instance_ids=["i-1", "i-2"])
    codes = {row.group_instance_id or row.member_id: row.error_code for row in answer.struct.members}
    wanted = {goes.id: 0, "stranger": errors.UNKNOWN_MEMBER_ID, "i-1": 0, "i-2": 0}
    answer.must(codes == wanted, f"the results are {codes}; they must be {wanted}", "members")

    stays.heartbeat().must_be_refused(errors.REBALANCE_IN_PROGRESS)
    joined = stays.join().must_succeed()
    joined.must(set(joined.members) == {stays.id}, "only the member that stayed is left", "members")

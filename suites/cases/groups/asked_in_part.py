"""Groups in lists: filtered by state and type, and deleted several at once, good and bad ones."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import rebalance
from brokertrial.suites.probe.consumer_member import ConsumerGroupMember, reconcile
from brokertrial.wire import errors
from brokertrial.wire.messages import request

CLASSIC = {"JoinGroup": 0, "SyncGroup": 0, "Heartbeat": 0}


@case(
    "groups/listed-by-state-and-type",
    guarantee="grp-020",
    apis={**CLASSIC, "ListGroups": 5, "ConsumerGroupHeartbeat": 1},
    features={"group.version": 1},
    detects=["Q08", edit_answer("groups[0]", drop=True, api="ListGroups", skip=2)],
)
def each_filter_lists_the_groups_that_it_names(wire, topic, group):
    """ListGroups MUST list exactly the groups that are in one of the states and of one of the types that it is asked
    for, with their type; without a filter all of them.

    Four groups: with offsets alone, in mid-rebalance, stable, and one of the consumer protocol.
    """
    empty, joining = wire.name("empty"), wire.name("joining")
    consumers = wire.name("consumers")
    wire.commit(empty, topic, offset=5)
    rebalance(wire.member(group))
    wire.member(joining).join().must_succeed()
    member = ConsumerGroupMember(wire, consumers, topic)
    member.beat()
    reconcile(member, partitions=len(wire.known_partitions(topic)))
    groups = {
        empty: ("Empty", "classic"),
        joining: ("CompletingRebalance", "classic"),
        group: ("Stable", "classic"),
        consumers: ("Stable", "consumer"),
    }
    for asked, wanted in (
        ({}, [empty, joining, group, consumers]),
        ({"states_filter": ["Stable"]}, [group, consumers]),
        ({"states_filter": ["Empty", "CompletingRebalance"]}, [empty, joining]),
        ({"states_filter": ["Dead"]}, []),
        ({"types_filter": ["classic"]}, [empty, joining, group]),
        ({"types_filter": ["consumer"]}, [consumers]),
        ({"types_filter": ["consumer", "classic"]}, [empty, joining, group, consumers]),
        ({"states_filter": ["Stable"], "types_filter": ["classic"]}, [group]),
        ({"states_filter": ["Empty"], "types_filter": ["consumer"]}, []),
    ):
        with wire.part(", ".join(f"{' '.join(values)}" for values in asked.values()) or "no filter"):
            _must_list(wire, groups, asked, wanted)


@case(
    "groups/deleted-in-part",
    guarantee="grp-021",
    apis={**CLASSIC, "DeleteGroups": 0, "DescribeGroups": 0},
    detects=["N03", edit_answer("results[].error_code", set=0, api="DeleteGroups")],
)
def each_group_of_a_deletion_has_its_own_fate(wire, topic, group):
    """Of the groups that one DeleteGroups names, those without members MUST be deleted with their offsets, one with
    members MUST be refused (68) and keep its own, and one that does not exist MUST be refused alone (69); a group of a
    deleted name begins anew.
    """
    names = _coordinated_together(wire, group, 3)
    first, full, absent = names
    last = group
    for number, name in enumerate((first, last)):
        wire.commit(name, topic, offset=number + 1).must_succeed()
    member = wire.member(full)
    rebalance(member)
    member.commit(topic, offset=7).must_succeed()

    answer = wire.delete_groups(first, full, absent, last)
    codes = {row.group_id: row.error_code for row in answer.struct.results}
    wanted = {first: 0, full: errors.NON_EMPTY_GROUP, absent: errors.GROUP_ID_NOT_FOUND, last: 0}
    answer.must(codes == wanted, f"the error codes are {codes}; they must be {wanted}", "results")
    for name, offset in ((first, -1), (full, 7), (last, -1)):
        wire.committed(name, topic).must_be(offset)
    member.heartbeat().must_succeed()
    wire.describe_group(first, version=min(5, max(wire.versions("DescribeGroups")))).must_have(
        "groups[0].group_state", "Dead"
    )

    wire.commit(first, topic, offset=3).must_succeed()
    wire.committed(first, topic).must_be(3)
    wire.committed(last, topic).must_be(-1)


def _coordinated_together(wire, group, count):
    """Names of more groups that have the coordinator of the first."""
    node, found = wire.coordinator(group), []
    for number in range(60):
        name = wire.name(f"g{number}")
        if wire.coordinator(name) == node:
            found.append(name)
        if len(found) == count:
            return found
    return wire.unclear(f"no {count} of 60 groups have the coordinator of {group}")


def _must_list(wire, groups, asked, wanted):
    """All nodes together list each of those once, with state and type; the groups of others do not count."""
    answers = [wire.ask(request("ListGroups", **asked), to=node).must_succeed() for node in wire.nodes]
    listed = sorted(
        (row.group_id, row.group_state, row.group_type.lower())
        for answer in answers
        for row in answer.struct.groups
        if row.group_id in groups
    )
    must = sorted((name, *groups[name]) for name in wanted)
    wire.must(listed == must, f"it lists {listed}; it must list {must}", *answers)

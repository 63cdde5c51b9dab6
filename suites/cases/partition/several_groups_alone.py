"""Requests for several groups at a coordinator whose log is replicated nowhere for a while."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._open_request import OpenRequest, await_answers
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.coordinators_alone import ALONE, ALONE_S, offset_commit
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead, shown
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, names_in
from brokertrial.wire.messages import request

SEVERAL_SINCE = 8


@case(
    "partition/several-groups-changed-alone",
    guarantees=["grp-021", "cmt-017", "cmt-002"],
    needs=[*NEEDS, "partitions"],
    apis={
        "CreateTopics": 5,
        "DeleteGroups": 0,
        "OffsetFetch": SEVERAL_SINCE,
        "AlterPartitionReassignments": 0,
        "ElectLeaders": 1,
    },
    features={"group.version": 1},
    detects=["B95"],
)
def each_group_waits_for_its_own_replicas(wire, nodes, rng):
    """While no follower replicates its log, a group coordinator MUST NOT say of a group that it is deleted, and MUST
    NOT return an offset that was committed meanwhile, whichever other groups the request names, and in what order:
    one that there is not, or one of another partition of the log. What is said to be deleted later MUST be gone.

    The other partition has nothing that its followers lack, and two orders are tried of each request.
    Coordinators of before group.version 1 answered DeleteGroups before it was replicated.
    """
    node, other = rng.sample(wire.nodes, 2)
    topic = placed(wire, "t", [other], **ALONE)
    (*deleted, shows), (beside, *absent) = _of_two_partitions(wire, node, rng)
    for group in (*deleted, shows, beside):
        wire.commit(group, topic, offset=1).must_succeed()
    orders = [[shows, beside, absent[0]], [absent[0], beside, shows]]
    with apart(nodes, node, "brokers"):
        commit = OpenRequest(wire, node, offset_commit(wire, shows, topic), "commit")
        deletions = [
            OpenRequest(wire, node, request("DeleteGroups", groups_names=names), f"delete {number}")
            for number, names in enumerate([[deleted[0], absent[0]], [absent[1], deleted[1]]])
        ]
        fetches = [_fetched(wire, node, topic, names) for names in orders]
        await_answers([*deletions, *fetches, commit], ALONE_S, 0.2)
        for one, group in zip(deletions, deleted, strict=True):
            one.response.must(_code(one, group) != 0, f"{group} is said to be deleted, and no other node has that")
        for one, names in zip(fetches, orders, strict=True):
            _must_return_the_old_one(one, shows, names)
    await_answers(deletions, WITHIN_S, 1)
    for one, group in zip(deletions, deleted, strict=True):
        if _code(one, group) == 0:
            wire.committed(group, topic).must_be(-1)


def _of_two_partitions(wire, node, rng):
    """Names of groups, three of each of two partitions of the log that this node leads."""
    first = wire.name("g")
    wire.coordinator(first)
    (row,) = wire.metadata(OFFSETS_TOPIC, to=node).struct.topics
    count = len(row.partitions)
    if count < 2 or any(node not in part.replica_nodes for part in row.partitions):
        wire.not_applicable(f"{OFFSETS_TOPIC} does not have several partitions on each node")
    indexes = rng.sample(range(count), 2)
    for index in indexes:
        replicas = shown(wire, OFFSETS_TOPIC, node, index).replica_nodes
        order = [node, *(each for each in replicas if each != node)]
        comes_to_lead(wire, OFFSETS_TOPIC, order, node, index)
    return [list(islice(names_in(wire, index, count), 3)) for index in indexes]


def _fetched(wire, node, topic, names):
    rows = [{"name": topic, "topic_id": wire.topic_id(topic), "partition_indexes": [0]}]
    asked = request("OffsetFetch", groups=[{"group_id": name, "topics": rows} for name in names])
    return OpenRequest(wire, node, asked, f"fetch {names[0]}")


def _code(one, group):
    """None where it has no answer."""
    if not one.answered:
        return None
    return next(row.error_code for row in one.response.struct.results if row.group_id == group)


def _must_return_the_old_one(one, shows, names):
    if not one.answered:
        return
    row = next(row for row in one.response.struct.groups if row.group_id == shows)
    if not row.error_code:
        found = [part.committed_offset for each in row.topics for part in each.partitions]
        one.response.must(found == [1], f"of {shows}, one of {names}, the offset is {found}; no other node has that")

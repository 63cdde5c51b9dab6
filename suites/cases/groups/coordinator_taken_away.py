"""A coordinator of groups loses its replica of their log, and gets it back when the groups are others."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE, WITHIN_S, must_not_be_known_to
from brokertrial.suites.cases.transactions.reassigned_coordinators import CoordinatorLogs
from brokertrial.suites.probe import join_together, rebalance
from brokertrial.suites.probe.coordinator_writes import (
    OFFSETS_TOPIC,
    coordinator_partition,
    make_coordinator_write,
    names_in,
)
from brokertrial.wire.messages import request

STAYS = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 15_000}
"""No member falls silent while the log is on its way."""


@case(
    "groups/coordinator-replica-taken-away-and-back",
    guarantees=["grp-016", "grp-020", "grp-021", "cmt-002"],
    apis={
        "AlterPartitionReassignments": 0,
        "ElectLeaders": 1,
        "JoinGroup": 2,
        "ListGroups": 0,
        "DeleteGroups": 0,
        "OffsetFetch": 1,
    },
    needs=["started", "three-nodes", "leaders", "partitions", "topic-settings", "kill"],
    detects=["J10"],
)
def it_shows_what_is_now(wire, group, transactional_id, rng):
    """A coordinator whose replica of the groups' log is taken away MUST answer the requests that wait there so that
    clients look for the coordinator, and MUST NOT describe or list the groups any more. When it is given back the
    replica it MUST show them as they are then: what was committed, deleted and joined elsewhere meanwhile.

    Groups of one partition of the log: a member waits in JoinGroup and one in SyncGroup, an offset is committed, a
    group is deleted, and one has a member more.
    """
    former = wire.coordinator(group)
    logs = CoordinatorLogs(wire, group, transactional_id, asked=former)
    topic, others = logs.topic, rng.sample([node for node in wire.nodes if node != former], 2)
    deleted, living, joining, syncing = names = _of_one_partition(wire, group)
    wire.commit(deleted, topic, offset=3).must_succeed()
    first = wire.member(living, "first", **STAYS)
    rebalance(first, assignments=[b"whole"])
    waiting = [_waits_in_join(wire, joining), _waits_in_sync(wire, syncing)]

    _are_led_by(wire, logs, names, others)
    for answer in waiting:
        answer.must_be_refused(*ELSEWHERE)
    _must_be_gone(wire, former, [group, *names])
    for name in (group, deleted, living):
        make_coordinator_write(wire, name)
    wire.committed(group, topic).must_be(10)
    wire.commit(group, topic, offset=11).must_succeed()
    wire.delete_groups(deleted).must_succeed()
    second = wire.member(living, "second", **STAYS)
    rebalance(first, second, assignments=[b"left", b"right"])

    _are_led_by(wire, logs, names, [former, *others])
    _must_be_gone(wire, others[0], [group, *names])
    make_coordinator_write(wire, group)
    wire.committed(group, topic).must_be(11)
    wire.committed(deleted, topic).must_be(-1)
    listed = wire.list_groups(to=former).must_succeed()
    found = [row.group_id for row in listed.struct.groups]
    listed.must(living in found, f"node {former} lists {found}, not {living}", "groups")
    listed.must(deleted not in found, f"node {former} lists {deleted}, which was deleted elsewhere", "groups")
    described = wire.describe_group(living).must_have("groups[0].group_state", "Stable")
    held = {row.member_id: bytes(row.member_assignment) for row in described.at("groups[0].members")}
    wanted = {first.id: b"left", second.id: b"right"}
    described.must(held == wanted, f"its members hold {held}; they must hold {wanted}", "groups[0].members")
    for member in (first, second):
        member.heartbeat().must_succeed()


def _of_one_partition(wire, group):
    """More names of groups that the same node coordinates, now and later."""
    (row,) = wire.metadata(OFFSETS_TOPIC).struct.topics
    count = len(row.partitions)
    return list(islice(names_in(wire, coordinator_partition(group, count), count), 4))


def _waits_in_join(wire, name):
    """A second member joins, and the first does not join again."""
    rebalance(wire.member(name, "stays away", **STAYS))
    joins = wire.member(name, "joins", **STAYS)
    joins.begin_join()
    wire.until(
        lambda: wire.describe_group(name).struct.groups[0].group_state == "PreparingRebalance",
        within=WITHIN_S,
        what=f"{name} waits for its first member",
    )
    return joins.joined


def _waits_in_sync(wire, name):
    """The leader of two brings no assignments."""
    pair = [wire.member(name, what, **STAYS) for what in ("one", "another")]
    leader = join_together(*pair)
    waits = next(member for member in pair if member is not leader)
    return waits.sync(wait=False)


def _are_led_by(wire, logs, names, replicas):
    logs.replicas_become(OFFSETS_TOPIC, replicas)
    for name in names:
        wire.forget_coordinator(name)


def _must_be_gone(wire, node, names):
    """This node describes and lists none of them."""
    must_not_be_known_to(
        wire,
        node,
        request("DescribeGroups", groups=names),
        lambda response: [row.error_code for row in response.groups],
    )
    wire.eventually(lambda: _must_not_list(wire, node, names), within=WITHIN_S)


def _must_not_list(wire, node, names):
    answer = wire.list_groups(to=node).must_succeed()
    found = [row.group_id for row in answer.struct.groups if row.group_id in names]
    answer.must(not found, f"node {node} lists {found}, which another node coordinates", "groups")

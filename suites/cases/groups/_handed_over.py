"""A coordinator of groups hands them to another node and gets them back, while both live."""

from brokertrial.suites.cases.replication._handing_over import hand_over, must_not_be_known_to
from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, make_coordinator_write
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire.messages import request

WITHIN_S = 30


@breaks("grp-016")
def handed_over(nodes, wire, groups, rng, meanwhile):
    """The coordinator of the first of these groups hands over all that it coordinates: `reloaded(answered=True)` is
    called on each of these groups that moves, `meanwhile` continues it at another node, and both again when the first
    node has them back. Waiting requests are answered with NOT_COORDINATOR.
    """
    first = nodes.of_group(groups[0].name)
    moved = [each for each in groups if nodes.of_group(each.name) == first]
    second = rng.choice([node for node in wire.nodes if node != first])
    beside = [each for each in groups if nodes.of_group(each.name) == second]
    for former, to in ((first, second), (second, first)):
        hand_over(wire, OFFSETS_TOPIC, former, to)
        gone = moved if former == first else [*moved, *beside]
        for each in gone:
            _must_be_at(wire, each.name, former, to)
        for each in gone:
            make_coordinator_write(wire, each.name)
            each.reloaded(answered=True)
        for each in gone:
            meanwhile(each)


def _must_be_at(wire, name, former, to):
    """Each node names the new coordinator, which alone has the group; the former one refuses to describe it."""
    wire.forget_coordinator(name)
    for node in wire.nodes:
        wire.until(
            lambda node=node: _named(wire, name, node) == to,
            within=WITHIN_S,
            what=f"node {node} names node {to} as the coordinator",
        )
    must_not_be_known_to(
        wire,
        former,
        request("DescribeGroups", groups=[name]),
        lambda response: [row.error_code for row in response.groups],
    )
    wire.eventually(lambda: _must_not_be_listed(wire, name, to), within=WITHIN_S)


def _named(wire, name, node):
    answer = wire.find_coordinator(name, to=node)
    row = answer.struct.coordinators[0] if answer.version >= 4 else answer.struct
    return None if row.error_code else row.node_id


@breaks("grp-016", "grp-020")
def _must_not_be_listed(wire, name, to):
    for node in wire.nodes:
        if node != to:
            answer = wire.list_groups(to=node).must_succeed()
            there = name in [row.group_id for row in answer.struct.groups]
            answer.must(not there, f"node {node} lists a group that node {to} coordinates", "groups")

"""Partitions of the coordinators' own topics are handed from one node to another while both live.

What a node knew of the groups and transactions that it coordinated is of no use from then on: others change it, and
when it coordinates them again it must have read it anew.
"""

from brokertrial.suites.probe.preferred_leaders import Places, is_settled
from brokertrial.wire import errors
from brokertrial.wire.messages import request

WITHIN_S = 60
STATE_TOPIC = "__transaction_state"
ELSEWHERE = (errors.NOT_COORDINATOR, errors.COORDINATOR_NOT_AVAILABLE, errors.COORDINATOR_LOAD_IN_PROGRESS)
APIS = {"AlterPartitionReassignments": 0, "ElectLeaders": 1}


def hand_over(wire, topic, former, to):
    """`to` leads whatever `former` leads of this topic: it becomes the first replica of each, and is elected."""
    rows = [row for row in _shown(wire, topic) if row.leader_id == former]
    orders = {row.partition_index: _first(to, row.replica_nodes) for row in rows}
    if not rows or any(to not in row.replica_nodes for row in rows):
        wire.not_applicable(f"{topic} is not shown, or not on each node: it is not known where it is led")
    parts = [{"partition_index": index, "replicas": order} for index, order in orders.items()]
    asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=[{"name": topic, "partitions": parts}])
    wire.ask(asked, to=wire.controller).must_succeed()
    away: Places = {}
    wire.until(
        lambda: _are_in_order(wire, topic, orders) and is_settled(wire, len(wire.nodes), away),
        within=WITHIN_S,
        what=f"node {to} leads what node {former} led of {topic}",
    )
    for node in wire.nodes:
        wire.until(
            lambda node=node: _are_led(wire, topic, orders, to, node),
            within=WITHIN_S,
            what=f"node {node} knows that node {to} leads {topic}",
        )


def _first(node, replicas):
    return [node, *[each for each in replicas if each != node]]


def _shown(wire, topic, node=None):
    """What a node says of the partitions of an internal topic."""
    answer = wire.metadata(topic, to=wire.controller if node is None else node)
    return answer.struct.topics[0].partitions if answer.struct.topics else []


def _are_in_order(wire, topic, orders):
    shown = {row.partition_index: row for row in _shown(wire, topic)}
    return all(
        shown[index].replica_nodes == order and set(shown[index].isr_nodes) == set(order)
        for index, order in orders.items()
    )


def _are_led(wire, topic, orders, to, node):
    shown = {row.partition_index: row.leader_id for row in _shown(wire, topic, node)}
    return all(shown.get(index) == to for index in orders)


def must_not_be_known_to(wire, node, asked, codes):
    """A node that coordinates a key no more refuses this, as soon as it has heard so; `codes` of its answer."""

    def refuses():
        answer = wire.ask(asked, to=node)
        returned = codes(answer.struct)
        answer.must(
            bool(returned) and set(returned) <= set(ELSEWHERE),
            f"node {node}, which coordinated it before, answers {returned}; it must send the client to the coordinator",
        )

    wire.eventually(refuses, within=WITHIN_S)

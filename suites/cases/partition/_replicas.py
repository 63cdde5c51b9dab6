"""Replicas of one partition while some of them replicate nothing: who leads, and who is in sync."""

from brokertrial.suites.cases.replication._roles import WITHIN_S, reassign
from brokertrial.suites.cases.replication.elections import leads_again
from brokertrial.wire.messages import request

NEEDS = ["three-nodes", "leaders", "network", "topic-settings"]
REPLICATED_S = 0.3
"""A follower asks anew ten times a second in the trials' clusters: those that are not cut off have it by then."""
SURELY_KNOWN_S = 0.5
"""A leader may go by an in-sync set a moment before its node shows it."""


def shown_by(wire, topic, node):
    """What this node shows of the partition."""
    return wire.metadata(topic, to=node).struct.topics[0].partitions[0]


def is_in_sync(wire, topic, replica, asked):
    """Whether the replica is in sync by what this node shows."""
    return replica in shown_by(wire, topic, asked).isr_nodes


def lead_in_this_order(wire, topic, order):
    """The replicas are these, in this order, and the first of them is elected at once."""
    reassign(wire, {topic: order}, to=wire.controller)
    wire.until(lambda: leads_again(wire, topic, order[0]), within=WITHIN_S, what=f"node {order[0]} leads {topic} first")


def take_over(wire, topic, order):
    """The same where followers are cut off from the leader: the first is elected, if it is done in time."""
    reassign(wire, {topic: order}, to=wire.controller)
    wire.until(
        lambda: _leads_and_knows(wire, topic, order[0]) or not is_in_sync(wire, topic, order[0], order[0]),
        within=WITHIN_S,
        what=f"node {order[0]} leads {topic}, or is not in sync any more",
    )
    if shown_by(wire, topic, order[0]).leader_id != order[0]:
        wire.unclear(f"node {order[0]} was not made leader before it was out of sync", "unobserved")


def _leads_and_knows(wire, topic, node):
    """Others may know of the election before the node that is elected."""
    return leads_again(wire, topic, node) and shown_by(wire, topic, node).leader_id == node


def produce_request(wire, topic, content, timeout_ms):
    """Produce with acks=all to the first partition."""
    rows = [{"index": 0, "records": content}]
    return request(
        "Produce",
        acks=-1,
        timeout_ms=timeout_ms,
        topic_data=[{"name": topic, "topic_id": wire.topic_id(topic), "partition_data": rows}],
    )

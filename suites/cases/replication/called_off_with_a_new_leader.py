"""Reassignments that are called off while one of the nodes that were to come leads already (KIP-455)."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._addresses import addresses
from brokertrial.suites.cases.replication._roles import (
    NO_NODE,
    WITHIN_S,
    all_in_sync,
    leader_shown,
    on_the_move,
    partition,
    placed,
    reassign,
)
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
PREFERRED = 0


@case(
    "replication/called-off-while-a-new-node-leads",
    guarantees=["adm-014", "adm-019", "repl-001"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0, "ElectLeaders": 1},
    detects=["B348"],
)
def those_of_before_lead_again(wire, nodes, rng):
    """Where a node that a reassignment adds leads already when it is called off, the partition MUST be led by the
    replica that it had before, on that alone, with all that was acknowledged, and at no moment by a node that is none
    of its replicas; and it MUST take records.

    To a node that comes in sync and is elected, and to one that is dead; instead of the one that has it, and beside it.
    """
    one, new, dead = rng.sample(list(wire.nodes), 3)
    moves = {
        placed(wire, "instead", [one], **ALONE): [new, dead],
        placed(wire, "beside", [one], **ALONE): [new, dead, one],
    }
    for topic in moves:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
    nodes.kill(dead)
    wire.until(lambda: dead not in addresses(wire, one), within=WITHIN_S, what=f"node {one} knows that {dead} is dead")
    reassign(wire, moves, one)
    for topic in moves:
        wire.until(partial(_is_in_sync, wire, topic, new), within=WITHIN_S, what=f"node {new} is in sync")
    rows = [{"topic": topic, "partitions": [0]} for topic in moves]
    elected = wire.ask(
        request("ElectLeaders", election_type=PREFERRED, topic_partitions=rows, timeout_ms=10_000), to=one
    )
    elected.examined = True  # a leader that has come by itself is no failure
    for topic in moves:
        wire.until(lambda of=topic: leader_shown(wire, of, one) == new, within=WITHIN_S, what=f"node {new} leads")
        wire.refresh_metadata(topic)
        wire.produce(topic, batch("b")).must_be_at(1)
    reassign(wire, dict.fromkeys(moves), one)
    for topic in moves:
        wire.until(partial(_is_as_before, wire, topic, one), within=WITHIN_S, what=f"node {one} alone has {topic}")
        wire.refresh_metadata(topic)
        wire.produce(topic, batch("c")).must_be_at(2)
        wire.read_all(topic).must_hold("a", "b", "c")
    listed, answer = on_the_move(wire, one)
    answer.must(not listed, f"on the move are {listed}, and all was called off", "topics")
    nodes.start(dead)
    for topic in moves:
        wire.await_topic(topic)
        all_in_sync(wire, topic)


def _is_in_sync(wire, topic, node):
    return node in partition(wire, topic).isr_nodes


def _is_as_before(wire, topic, node):
    """At no moment it may be led by a node that is none of its replicas: nobody could read or write it there."""
    row = partition(wire, topic)
    leader, replicas = row.leader_id, [*row.replica_nodes]
    wire.must(leader in (NO_NODE, *replicas), f"{topic} is led by node {leader}, and is on {replicas}")
    return (leader, replicas) == (node, [node])

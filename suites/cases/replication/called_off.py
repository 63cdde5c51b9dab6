"""Reassignments that are called off while the node that was to be added is slow: nothing is left of them there."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, on_the_move, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ROUNDS, ALONE = 3, {"min.insync.replicas": "1"}


@case(
    "replication/called-off-leaves-nothing",
    guarantees=["adm-014", "adm-018", "repl-002"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "pause"],
    apis={"AlterPartitionReassignments": 0, "DescribeLogDirs": 1},
    detects=["K35"],
)
def a_node_that_was_to_be_added_holds_nothing(wire, nodes, rng):
    """When a reassignment is cancelled, the node that was to be added MUST NOT hold the partition once it has learnt of
    it, however slow it was; the topic can be deleted, created again under its name, and be held by that node then.

    Three times, with a node that is paused while the reassignment begins and ends.
    """
    for turn in range(ROUNDS):
        asked = wire.controller()
        added = rng.choice([node for node in wire.nodes if node != asked])
        stays = rng.choice([node for node in wire.nodes if node != added])
        topic = placed(wire, f"moved {turn}", [stays], **ALONE)
        wire.produce(topic, batch("a")).must_be_at(0)
        nodes.pause(added)
        _move(wire, asked, topic, [stays, added])
        wire.rest(rng.choice((0, 0.5, 1.5)))
        _move(wire, asked, topic, None)
        nodes.resume(added)
        wire.new_topic()  # known to every node: all that was before has come to them too
        wire.eventually(lambda topic=topic, added=added: _must_hold(wire, added, topic, []), within=WITHIN_S)
        wire.eventually(lambda topic=topic, stays=stays: _must_hold(wire, stays, topic, [0]), within=WITHIN_S)
        _move(wire, asked, topic, [stays, added])
        wire.eventually(lambda topic=topic, added=added: _must_hold(wire, added, topic, [0]), within=WITHIN_S)
        wire.read_all(topic).must_hold("a")


@case(
    "replication/called-off-when-half-done",
    guarantees=["adm-014", "adm-018", "repl-001"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "DescribeLogDirs": 1, "Metadata": 7},
    detects=["J01"],
)
def what_was_in_sync_already_leaves_again(wire, nodes, rng):
    """When a reassignment is cancelled of which one node has caught up, and another could not, MUST have nothing of
    either: replicas, in-sync replicas and offline replicas are those of before on every node, nothing is on the move.

    The partition takes records all along, and goes where it was to go when it is asked for again.
    """
    stays, quick, dead = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "halfway", [stays], **ALONE)
    wire.produce(topic, batch("a")).must_be_at(0)
    nodes.kill(dead)
    asked = rng.choice((stays, quick))
    _move(wire, asked, topic, [quick, dead])
    wire.until(lambda: quick in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"{quick} is in sync")
    wire.produce(topic, batch("b"), acks=-1).must_be_at(1)
    _move(wire, asked, topic, None)
    for node in (stays, quick):
        wire.eventually(lambda at=node: _must_be_as_before(wire, at, topic, stays), within=WITHIN_S)
    wire.produce(topic, batch("c"), acks=-1).must_be_at(2)
    nodes.start(dead)
    for node, held in ((stays, [0]), (quick, []), (dead, [])):
        wire.eventually(lambda at=node, held=held: _must_hold(wire, at, topic, held), within=WITHIN_S)
    for node in wire.nodes:
        wire.eventually(lambda at=node: _must_be_as_before(wire, at, topic, stays), within=WITHIN_S)
    _move(wire, asked, topic, [quick, dead])
    wire.until(lambda: not on_the_move(wire, asked)[0], within=WITHIN_S, what="the reassignment ends")
    wire.refresh_metadata(topic)
    wire.read_all(topic).must_hold("a", "b", "c")


def _must_be_as_before(wire, node, topic, stays):
    """What a node shows of the partition: it is on one node, that leads it, and is not on the move."""
    answer = wire.metadata(topic, to=node)
    part = answer.struct.topics[0].partitions[0]
    shown = (part.leader_id, part.replica_nodes, part.isr_nodes, part.offline_replicas)
    right = shown == (stays, [stays], [stays], [])
    found = f"(leader, replicas, in sync, offline) of {topic} are {shown}"
    answer.must(right, f"node {node} shows that {found}; it is on {stays} alone, as before")
    moving, answer = on_the_move(wire, node)
    answer.must(not moving, f"on the move are {moving}; the reassignment was cancelled")


def _move(wire, node, topic, replicas):
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": replicas}]}]
    asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
    wire.ask(asked, to=node).must_succeed()


def _must_hold(wire, node, topic, wanted):
    """Which partitions of the topic lie on a node."""
    answer = wire.ask(request("DescribeLogDirs", topics=None), to=node).must_succeed()
    found = [
        part.partition_index
        for folder in answer.struct.results
        for row in folder.topics
        if row.name == topic
        for part in row.partitions
    ]
    answer.must(found == wanted, f"node {node} holds partitions {found} of {topic}; they must be {wanted}", "results")

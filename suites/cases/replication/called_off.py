"""Reassignments that are called off while the node that was to be added is slow: nothing is left of them there."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed
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

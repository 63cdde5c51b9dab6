"""When a reassignment is complete: not before as many replicas are in sync as were asked for."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}
STAYS_S = 2


@case(
    "replication/fewer-once-all-are-in-sync",
    guarantees=["repl-002", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["K20"],
)
def a_replica_goes_when_those_that_stay_are_in_sync(wire, nodes, rng):
    """A partition that is reassigned to fewer nodes, of which one is dead, MUST be held by the node that is to be
    removed, in sync, and be listed as being reassigned, until the dead one is back and in sync: no replica is removed
    before. Then it MUST be held by the requested replicas, with every record.

    Three partitions: the dead node is first, second or last, and the leader stays or goes.
    """
    go, stay, dead = rng.sample(list(wire.nodes), 3)
    moves = {
        placed(wire, what, before, **ALONE): (before, after)
        for what, before, after in (
            ("last", [go, stay, dead], [stay, dead]),
            ("first", [dead, stay, go], [dead, stay]),
            ("second", [stay, dead, go], [stay, dead]),
        )
    }
    nodes.kill(dead)
    for topic in moves:
        _await(wire, topic, lambda row: {*row.isr_nodes} == {go, stay} and row.leader_id != dead, f"{dead} is out")
        wire.produce(topic, batch("a")).must_be_at(0)
    rows = [
        {"name": topic, "partitions": [{"partition_index": 0, "replicas": after}]}
        for topic, (_, after) in moves.items()
    ]
    asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
    wire.ask(asked, to=wire.controller).must_succeed()

    wire.rest(STAYS_S)
    for topic, (before, after) in moves.items():
        row = partition(wire, topic)
        wire.must(
            go in row.replica_nodes and go in row.isr_nodes,
            f"from {before} to {after} while {dead} is dead: it is on {row.replica_nodes}, in sync on {row.isr_nodes}; "
            f"node {go} must hold it until {dead} is in sync",
        )
        wire.produce(topic, batch("b")).must_be_at(1)
    _must_be_on_the_move(wire, {topic: ([], [go]) for topic in moves})
    nodes.start(dead)
    for topic, (_, after) in moves.items():
        _await(
            wire,
            topic,
            lambda row, after=after: row.replica_nodes == after and {*row.isr_nodes} == {*after},
            f"it is held by {after}",
        )
        wire.read_all(topic).must_hold("a", "b")
    wire.eventually(lambda: _must_be_on_the_move(wire, {}), within=WITHIN_S)


def _await(wire, topic, holds, what):
    wire.until(lambda: holds(partition(wire, topic)), within=WITHIN_S, what=what)


def _must_be_on_the_move(wire, wanted):
    answer = wire.ask(request("ListPartitionReassignments", topics=None, timeout_ms=10_000), to=wire.controller)
    found = {
        each.name: (row.adding_replicas, row.removing_replicas)
        for each in answer.must_succeed().struct.topics
        for row in each.partitions
    }
    answer.must(found == wanted, f"who comes and goes is {found}; it must be {wanted}", "topics")

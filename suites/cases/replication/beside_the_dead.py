"""When a reassignment is complete: as soon as the added replicas are in sync, whichever other node is dead."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, partition, placed
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/moved-beside-a-dead-node",
    guarantees=["repl-002", "adm-014"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["K48"],
)
def a_move_waits_for_those_that_come(wire, nodes, rng):
    """A reassignment to as many nodes as before, or to more, MUST complete once the added nodes are in sync, although
    one that stays is dead: no other node holds the partition then, and no reassignment is listed. Once the dead one is
    back it MUST be in sync too, with every record.

    Four partitions: the leader goes or stays, the dead node comes first or last, a third replica is asked for, or only
    another order.
    """
    go, come, dead = rng.sample(list(wire.nodes), 3)
    moves = {
        placed(wire, what, before, **ALONE): after
        for what, before, after in (
            ("leads", [go, dead], [dead, come]),
            ("follows", [dead, go], [come, dead]),
            ("more", [go, dead], [dead, go, come]),
            ("order", [go, dead], [dead, go]),
        )
    }
    nodes.kill(dead)
    for topic in moves:
        _await(wire, topic, lambda row: [*row.isr_nodes] == [go] and row.leader_id == go, f"{dead} is out of sync")
        wire.produce(topic, batch("a")).must_be_at(0)
    rows = [
        {"name": topic, "partitions": [{"partition_index": 0, "replicas": after}]} for topic, after in moves.items()
    ]
    asked = request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows)
    wire.ask(asked, to=wire.controller).must_succeed()

    for topic, after in moves.items():
        alive = {*after} - {dead}
        wire.eventually(lambda at=topic, to=after, on=alive: _must_be_held(wire, at, to, on), within=WITHIN_S)
        wire.produce(topic, batch("b")).must_be_at(1)
    wire.eventually(lambda: _nothing_must_move(wire), within=WITHIN_S)
    nodes.start(dead)
    for topic, after in moves.items():
        _await(wire, topic, lambda row, to={*after}: {*row.isr_nodes} == to, f"all of {after} are in sync")
        wire.read_all(topic).must_hold("a", "b")


def _await(wire, topic, holds, what):
    wire.until(lambda: holds(partition(wire, topic)), within=WITHIN_S, what=what)


def _must_be_held(wire, topic, after, alive):
    row = partition(wire, topic)
    wire.must(
        [*row.replica_nodes] == after and {*row.isr_nodes} == alive and row.leader_id in alive,
        f"it is on {[*row.replica_nodes]}, in sync on {[*row.isr_nodes]}, led by {row.leader_id}; "
        f"it must be on {after}, in sync on {sorted(alive)}",
    )


def _nothing_must_move(wire):
    answer = wire.ask(request("ListPartitionReassignments", topics=None, timeout_ms=10_000), to=wire.controller)
    found = [each.name for each in answer.must_succeed().struct.topics]
    answer.must(not found, f"{', '.join(found)} are listed as on the move", "topics")

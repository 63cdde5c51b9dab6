"""Reassignments of every kind that are called off: of more nodes, of fewer, and of others."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, on_the_move, partition, placed
from brokertrial.suites.cases.replication.called_off import _move
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/called-off-of-any-kind",
    guarantees=["adm-019", "adm-014", "repl-001"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["B98"],
)
def what_is_listed_can_be_called_off(wire, nodes, rng):
    """A reassignment that is under way MUST be listed, and can be cancelled, whether it adds replicas, takes some
    away or both: then it is not listed any more, another cancellation MUST be refused (85), the replicas are those of
    before, and they MUST stay when nodes come back that it had waited for.

    To a node that is dead: to it beside others, to it alone, of one replica and of three; all at once.
    """
    one, two, dead = rng.sample(list(wire.nodes), 3)
    moves = {
        placed(wire, what, before, **ALONE): (before, after)
        for what, before, after in rng.sample(
            [
                ("more", [one], [one, dead]),
                ("exchanged", [one], [dead]),
                ("fewer", [one, two, dead], [dead]),
                ("fewer and exchanged", [one, two], [two, dead]),
                ("fewer of two", [two, dead], [dead]),
            ],
            5,
        )
    }
    for topic in moves:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
    nodes.kill(dead)
    for topic in moves:
        wire.until(lambda at=topic: dead not in partition(wire, at).isr_nodes, within=WITHIN_S, what=f"{dead} is out")
    asked = rng.choice((one, two))
    for topic, (_, after) in moves.items():
        _move(wire, asked, topic, after)
    listed, answer = on_the_move(wire, asked)
    answer.must(sorted(listed) == sorted(moves), f"on the move are {sorted(listed)}; they must be {sorted(moves)}")
    for topic, (before, after) in moves.items():
        with wire.part(f"from {len(before)} to {len(after)}"):
            _move(wire, asked, topic, None)
            _must_be_called_off(wire, asked, topic, before)
    nodes.start(dead)
    for topic, (before, _) in moves.items():
        wire.await_topic(topic)
        all_in_sync(wire, topic)
        for node in wire.nodes:
            wire.eventually(lambda at=node, of=topic, on=before: _must_be_on(wire, at, of, on), within=WITHIN_S)
        wire.read_all(topic).must_hold("a")


def _must_be_called_off(wire, asked, topic, before):
    wire.eventually(lambda: _must_be_on(wire, asked, topic, before), within=WITHIN_S)
    listed, answer = on_the_move(wire, asked)
    answer.must(topic not in listed, f"on the move are {listed}, and {topic} was called off", "topics")
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": None}]}]
    again = wire.ask(request("AlterPartitionReassignments", timeout_ms=10_000, topics=rows), to=asked)
    code = again.struct.responses[0].partitions[0].error_code
    again.must(
        code == errors.NO_REASSIGNMENT_IN_PROGRESS,
        f"it is answered with {code}; nothing of {topic} is on the move any more",
        "responses",
    )


def _must_be_on(wire, node, topic, replicas):
    answer = wire.metadata(topic, to=node)
    found = sorted(answer.struct.topics[0].partitions[0].replica_nodes)
    answer.must(
        found == sorted(replicas), f"node {node} shows that {topic} is on {found}; it must be {replicas}", "topics"
    )

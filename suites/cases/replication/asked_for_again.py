"""Reassignments that are asked for again while they are under way, as by a tool that got no answer (KIP-455)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, on_the_move, partition, placed
from brokertrial.suites.cases.replication.called_off import _move
from brokertrial.suites.cases.replication.called_off_of_any_kind import _must_be_called_off, _must_be_on
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/asked-for-again-while-on-the-move",
    guarantees=["adm-014", "adm-019", "repl-001"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["B126"],
)
def who_asks_again_changes_nothing(wire, nodes, rng):
    """A reassignment that is asked for again while it is under way, once or more often, MUST stay what it is: listed
    with the same nodes that come and go, and not complete before those that come are in sync. It can be cancelled, and
    the replicas are those of before then; what is not cancelled MUST be complete once those that come are there.

    To a node that is dead: to it beside others, to it alone, of one replica, of two and of three; some are cancelled.
    """
    one, two, dead = rng.sample(list(wire.nodes), 3)
    moves = {
        placed(wire, what, before, **ALONE): (before, after)
        for what, before, after in rng.sample(
            [
                ("more", [one], [one, dead]),
                ("more of two", [two, one], [two, one, dead]),
                ("exchanged", [one], [dead]),
                ("fewer", [one, two, dead], [dead]),
                ("fewer and exchanged", [one, two], [two, dead]),
                ("doubled and exchanged", [one], [two, dead]),
            ],
            6,
        )
    }
    for topic in moves:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
    nodes.kill(dead)
    for topic in moves:
        wire.until(lambda at=topic: dead not in partition(wire, at).isr_nodes, within=WITHIN_S, what=f"{dead} is out")
    asked = rng.choice((one, two))
    for topic, (before, after) in moves.items():
        with wire.part(f"from {len(before)} to {len(after)}"):
            for turn in range(rng.randint(2, 4)):
                _move(wire, asked, topic, after)
                _must_be_listed(wire, asked, topic, before, after, turn)
    cancelled = set(rng.sample(list(moves), len(moves) // 2))
    for topic in cancelled:
        before, after = moves[topic]
        with wire.part(f"from {len(before)} to {len(after)}, called off"):
            _move(wire, asked, topic, None)
            _must_be_called_off(wire, asked, topic, before)
    nodes.start(dead)
    wire.eventually(lambda: _must_be_over(wire, asked, moves), within=WITHIN_S)
    for topic, (before, after) in moves.items():
        wire.await_topic(topic)
        on = before if topic in cancelled else after
        for node in wire.nodes:
            wire.eventually(lambda at=node, of=topic, on=on: _must_be_on(wire, at, of, on), within=WITHIN_S)
        wire.read_all(topic).must_hold("a")


def _must_be_listed(wire, asked, topic, before, after, turn):
    """The nodes that come and go, whatever had been asked for before."""
    rows = [{"name": topic, "partition_indexes": [0]}]
    answer = wire.ask(request("ListPartitionReassignments", topics=rows, timeout_ms=10_000), to=asked).must_succeed()
    listed = [part for row in answer.struct.topics for part in row.partitions]
    found = [(sorted(part.adding_replicas), sorted(part.removing_replicas)) for part in listed]
    wanted = [(sorted({*after} - {*before}), sorted({*before} - {*after}))]
    answer.must(
        found == wanted,
        f"asked for {turn + 1} times, those that come and go are {found}; they must be {wanted}",
        "topics",
    )


def _must_be_over(wire, asked, moves):
    listed, answer = on_the_move(wire, asked)
    left = sorted({*listed} & {*moves})
    answer.must(not left, f"{left} are on the move still, and all that come are there", "topics")

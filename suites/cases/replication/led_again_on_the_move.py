"""Partitions that have no leader while they are being reassigned: they get one as any other, and arrive."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import (
    NO_NODE,
    WITHIN_S,
    all_in_sync,
    on_the_move,
    partition,
    placed,
    reassign,
)
from brokertrial.suites.probe import batch

ALONE = {"min.insync.replicas": "1"}


@case(
    "replication/led-again-while-on-the-move",
    guarantees=["adm-014", "kraft-005", "repl-001"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["B194"],
)
def who_has_everything_leads_again(wire, nodes, rng):
    """A partition that is being reassigned and loses its last in-sync replica MUST be led again once that one is back,
    with every record, as one that rests; then the reassignment MUST go on, and be complete when those are in sync that
    were waited for.

    To a node that is dead at first, and comes back when the node dies that alone has everything: it alone or beside
    others, of one replica or two; one partition becomes smaller, one rests.
    """
    alone, other, comes = rng.sample(list(wire.nodes), 3)
    moves = {
        placed(wire, what, before, **ALONE): after
        for what, before, after in rng.sample(
            [
                ("exchanged", [alone], [comes]),
                ("more", [alone], [alone, comes]),
                ("more, and the first", [alone], [comes, alone]),
                ("fewer", [alone, comes], [comes]),
                ("rests", [alone], [alone]),
            ],
            5,
        )
    }
    for topic in moves:
        all_in_sync(wire, topic)
        wire.produce(topic, batch("a")).must_be_at(0)
    nodes.kill(comes)
    for topic in moves:
        wire.until(lambda at=topic: _in_sync(wire, at) == [alone], within=WITHIN_S, what=f"{comes} is out of sync")
    moving = {topic: after for topic, after in moves.items() if after != [alone]}
    asked = rng.choice((alone, other))
    reassign(wire, moving, asked)
    listed, answer = on_the_move(wire, asked)
    answer.must(sorted(listed) == sorted(moving), f"on the move are {sorted(listed)}; it must be {sorted(moving)}")
    for topic in moves:
        wire.produce(topic, batch("b")).must_be_at(1)

    nodes.kill(alone)
    nodes.start(comes)
    for topic in moves:
        wire.until(
            lambda at=topic: partition(wire, at).leader_id == NO_NODE, within=WITHIN_S, what=f"{topic} has no leader"
        )
    nodes.start(alone)
    for topic, after in moves.items():
        wire.eventually(lambda at=topic: _must_be_led(wire, at), within=WITHIN_S)
        wire.eventually(lambda at=topic, on=after: _must_be_on(wire, at, on), within=WITHIN_S)
        wire.await_topic(topic)
        wire.produce(topic, batch("c")).must_be_at(2)
        wire.read_all(topic).must_hold("a", "b", "c")
    wire.eventually(lambda: _none_must_move(wire), within=WITHIN_S)


def _in_sync(wire, topic):
    return [*partition(wire, topic).isr_nodes]


def _must_be_led(wire, topic):
    row = partition(wire, topic)
    wire.must(
        row.leader_id in row.isr_nodes,
        f"it is on {row.replica_nodes}, in sync on {row.isr_nodes}, which are alive, and led by {row.leader_id}",
    )


def _must_be_on(wire, topic, replicas):
    row = partition(wire, topic)
    wire.must(
        [*row.replica_nodes] == replicas and {*row.isr_nodes} == {*replicas},
        f"it is on {row.replica_nodes}, in sync on {row.isr_nodes}; it must be on {replicas}, all of which are alive",
    )


def _none_must_move(wire):
    listed, answer = on_the_move(wire, wire.controller)
    answer.must(not listed, f"{listed} are on the move still", "topics")

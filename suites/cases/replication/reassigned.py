"""Partitions that are given other replicas, some of which are dead: what is on the move, called off, and done."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._placements import MovedPartitions

WHOLE = ("write", "move", "move", "leave", "elect", "refuse", "call off")
IN_PART = ("write", "write", "move", "leave", "begin", "elect", "elect", "call off")


@case(
    "replication/reassigned-while-a-node-is-away",
    guarantees=["repl-001", "repl-002", "repl-007", "repl-009", "repl-017", "adm-007"],
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    apis={
        "CreateTopics": 5,
        "Metadata": 7,
        "AlterPartitionReassignments": 0,
        "ListPartitionReassignments": 0,
        "ElectLeaders": 1,
        "Fetch": 11,
    },
    detects=["X08", "X09"],
)
def replicas_are_those_that_were_asked_for(wire, nodes, rng):
    """A reassigned partition MUST be held by the requested replicas, in this order, once all of them are in sync, and
    led by one of them, in a higher epoch where the old leader is not among them. Until then it MUST be held by those
    and by the ones to be removed, and be listed with its adding and removing replicas; once cancelled, it MUST be as it
    was before. Each replica MUST hold every record then, no other node MUST answer for the partition, and an impossible
    request MUST be refused.

    Five partitions and drawn steps: with all nodes alive, with one dead, and when that one is back.
    """
    moved = MovedPartitions(wire, rng)
    _steps(moved, WHOLE)
    dead = rng.choice(wire.nodes)
    nodes.kill(dead)
    moved.loses(dead)
    _steps(moved, IN_PART, first=("begin", "write", "call off", "begin"))
    nodes.start(dead)
    moved.gets_back()
    _steps(moved, WHOLE[:4])


def _steps(moved, steps, first=()):
    moved.must_be_as_placed()
    for step in (*first, *moved.rng.sample(steps, len(steps))):
        getattr(moved, f"step_{step.replace(' ', '_')}")()
        moved.must_be_as_placed()
    moved.must_be_held_by_all()

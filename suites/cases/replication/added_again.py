"""A replica that was taken away from a partition and is added again (KIP-455): it has nothing before it has copied."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import (
    WITHIN_S,
    all_in_sync,
    on_the_move,
    partition,
    placed,
    reassign,
)
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.apart import apart

ALONE = {"min.insync.replicas": "1"}
LOOKS, LOOKS_EACH_S = 8, 0.4


@case(
    "replication/added-again-without-its-data",
    guarantees=["adm-014", "repl-001", "repl-005"],
    needs=["three-nodes", "leaders", "network", "topic-settings", "partitions"],
    apis={"AlterPartitionReassignments": 0, "ListPartitionReassignments": 0},
    detects=["B309"],
)
def who_comes_back_must_copy_first(wire, nodes, rng):
    """A replica that was taken away and is added again MUST NOT be in sync, and its reassignment MUST NOT be complete,
    before it has copied what was acknowledged: for as long as it is cut off from the other brokers it is neither. Then
    it MUST have each record.

    Twice, once with records while it is away and while it comes back, once without; in the end it holds the partition
    alone.
    """
    one, two, back = rng.sample(list(wire.nodes), 3)
    topic = placed(wire, "t", [one, two, back], **ALONE)
    everybody, sent = [one, two, back], 0
    for quiet in rng.sample((True, False), 2):
        all_in_sync(wire, topic)
        sent = _written(wire, topic, sent)
        reassign(wire, {topic: [one, two]}, to=one)
        _await_replicas(wire, topic, [one, two], asked=one)
        sent = sent if quiet else _written(wire, topic, sent)
        with apart(nodes, back, "brokers"):
            reassign(wire, {topic: everybody}, to=one)
            wire.until(
                lambda: back in partition(wire, topic).replica_nodes, within=WITHIN_S, what=f"node {back} is a replica"
            )
            for _ in range(LOOKS):
                sent = sent if quiet else _written(wire, topic, sent)
                _must_be_out(wire, topic, back, asked=one)
                wire.rest(LOOKS_EACH_S)
        _await_replicas(wire, topic, everybody, asked=one)
    all_in_sync(wire, topic)
    reassign(wire, {topic: [back]}, to=one)
    _await_replicas(wire, topic, [back], asked=one)
    wire.await_topic(topic)
    wire.read_all(topic).must_hold(*(f"{number}" for number in range(sent)))


def _written(wire, topic, sent):
    wire.produce(topic, batch(f"{sent}")).must_be_at(sent)
    return sent + 1


def _await_replicas(wire, topic, wanted, asked):
    """The move is over."""

    def over():
        moving, _ = on_the_move(wire, asked)
        return sorted(partition(wire, topic).replica_nodes) == sorted(wanted) and topic not in moving

    wire.until(over, within=WITHIN_S, what=f"{topic} is on {sorted(wanted)}, and not on the move")


def _must_be_out(wire, topic, back, asked):
    isr = sorted(partition(wire, topic).isr_nodes)
    moving, answer = on_the_move(wire, asked)
    answer.must(
        back not in isr and topic in moving,
        f"{isr} are in sync, and the move is {'under way' if topic in moving else 'complete'}; node {back}, which is "
        "cut off from the others, has copied nothing",
    )

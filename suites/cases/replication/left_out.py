"""Who has no say any more: a dead replica is not waited for, and a leader that was deposed takes nothing."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, all_in_sync, partition, replicated, roles
from brokertrial.suites.probe import batch
from brokertrial.wire import errors


@case(
    "replication/dead-replica-is-left-out",
    guarantees=["repl-002", "kraft-005"],
    needs=["three-nodes", "leaders", "kill", "restart", "topic-settings"],
    detects=["M33g"],
)
def a_dead_replica_is_not_waited_for(wire, nodes):
    """A replica that is dead MUST leave the in-sync set, and acks=all go on with the two that are left; once it is back
    it MUST be in sync again.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    leader, (dead, _) = roles(wire, topic)
    wire.produce(topic, batch("all")).must_be_at(0)
    nodes.kill(dead)
    wire.until(
        lambda: dead not in partition(wire, topic).isr_nodes, within=WITHIN_S, what=f"node {dead} is left out of sync"
    )
    wire.produce(topic, batch("two"), to=leader).must_be_at(1)
    nodes.start(dead)
    all_in_sync(wire, topic)
    wire.read_all(topic).must_hold("all", "two")


@case(
    "replication/deposed-leader-steps-down",
    guarantees=["repl-010", "repl-007"],
    needs=["three-nodes", "leaders", "pause", "topic-settings"],
    detects=["M32e"],
)
def a_leader_that_was_deposed_takes_nothing(wire, nodes):
    """A leader that was replaced while it was paused MUST refuse records (6) once it is reachable again, also with
    acks=1, and what the new leader accepted MUST stay.
    """
    topic = replicated(wire)
    all_in_sync(wire, topic)
    former, (witness, _) = roles(wire, topic)
    wire.produce(topic, batch("before")).must_be_at(0)
    nodes.pause(former)
    (leader,) = wire.until(
        lambda: successors(wire, topic, witness, former), within=WITHIN_S, what=f"another node than {former} leads"
    )
    wire.produce(topic, batch("after"), to=leader).must_be_at(1)
    nodes.resume(former)
    wire.until(
        lambda: (
            wire.produce(topic, batch("late"), acks=1, to=former, retry=False).error == errors.NOT_LEADER_OR_FOLLOWER
        ),
        within=WITHIN_S,
        what=f"node {former}, which leads no more, refuses a record",
    )
    wire.await_topic(topic)
    log = wire.read_all(topic)
    log.must(log.values[:2] == [b"before", b"after"], f"the log holds {log.values}")


def successors(wire, topic, witness, former):
    """The present leader, as the witness, a live node, names it; empty while there is no other leader."""
    row = wire.metadata(topic, to=witness).struct.topics[0].partitions[0]
    return [node for node in (row.leader_id,) if node not in (former, NO_NODE)]

"""Transactions that end while some of their partitions have no leader: the markers wait for one (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, partition, placed
from brokertrial.suites.probe import COMMITTED

TRANSACTION, TIMEOUT_MS = 1, 60_000
"""What FindCoordinator calls the coordinator of a transactional id."""


@case(
    "transactions/ends-without-a-leader",
    guarantees=["txn-001", "txn-002", "txn-011", "txn-004"],
    needs=["three-nodes", "leaders", "kill", "restart", "topic-settings"],
    apis={"InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0},
    detects=["V71"],
)
def markers_come_once_there_is_a_leader(wire, nodes, rng):
    """A transaction that ends while a partition of it has no leader MUST be decided there as it ended, once there is a
    leader again: what it committed is delivered, what it aborted is not, nothing stays open, and what the same
    producers do next changes none of it.

    Four producers write to a topic on each node; the node of one topic is killed, two commit and two abort, and then
    each does the opposite.
    """
    killed = rng.choice(wire.nodes)
    topics = {node: placed(wire, "t", [node], **{"min.insync.replicas": "1"}) for node in wire.nodes}
    producers = [wire.producer(_coordinated_elsewhere(wire, killed), timeout_ms=TIMEOUT_MS) for _ in range(4)]
    wanted: dict[int, list[bytes]] = {node: [] for node in topics}
    for number, producer in enumerate(producers):
        for node in [*rng.sample(sorted(topics), rng.randint(1, 3)), killed]:
            value = f"{number} {len(wanted[node])} {node}"
            producer.send(topics[node], value).must_succeed()
            if number % 2 == 0:
                wanted[node].append(value.encode())

    nodes.kill(killed)
    wire.until(
        lambda: partition(wire, topics[killed]).leader_id == NO_NODE,
        within=WITHIN_S,
        what="a partition whose only replica is gone has no leader",
    )
    for number, producer in enumerate(producers):
        (producer.commit() if number % 2 == 0 else producer.abort()).must_succeed()
    nodes.start(killed)
    _must_be_decided(wire, topics, wanted)
    for number, producer in enumerate(producers):
        producer.send(topics[killed], f"{number} next").must_succeed()
        if number % 2:
            wanted[killed].append(f"{number} next".encode())
        (producer.abort() if number % 2 == 0 else producer.commit()).must_succeed()
    _must_be_decided(wire, topics, wanted)


def _coordinated_elsewhere(wire, node):
    for _ in range(50):
        name = wire.name("x")
        if wire.coordinator(name, TRANSACTION) != node:
            return name
    return wire.unclear(f"node {node} coordinates every transactional id")


def _must_be_decided(wire, topics, wanted):
    for node, topic in topics.items():
        wire.await_topic(topic)
        wire.await_settled(topic, within=WITHIN_S)
        wire.read_all(topic, isolation=COMMITTED).must_hold(*wanted[node])

"""Transactions that nobody ends while one of their partitions has no leader: they time out in the others (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, partition, placed
from brokertrial.suites.cases.transactions.without_a_leader import _coordinated_elsewhere
from brokertrial.suites.probe import COMMITTED

LONG_MS, TIMEOUT_MS = 60_000, 12_000
ALONE = {"min.insync.replicas": "1"}


@case(
    "transactions/times-out-beside-one-without-a-leader",
    guarantees=["txn-008", "txn-004", "txn-011"],
    needs=["three-nodes", "leaders", "kill", "restart", "topic-settings"],
    apis={"InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0, "DeleteTopics": 1},
    detects=["B350"],
)
def the_others_are_not_held_up(wire, nodes, rng):
    """A transaction whose time is over MUST be aborted in each of its partitions that has a leader, though another one
    has none: readers of committed records go on there, and are given what other producers have committed.

    In a topic on each node, one of which is dead by then.
    """
    dead = rng.choice(wire.nodes)
    topics = {node: placed(wire, "t", [node], **ALONE) for node in wire.nodes}
    alive = [node for node in wire.nodes if node != dead]
    silent = wire.producer(_coordinated_elsewhere(wire, dead), timeout_ms=TIMEOUT_MS)
    other = wire.producer(_coordinated_elsewhere(wire, dead), timeout_ms=LONG_MS)
    begun_ms = wire.now_ms()
    for node in rng.sample(wire.nodes, len(wire.nodes)):
        silent.send(topics[node], "never ended").must_succeed()
    nodes.kill(dead)
    wire.until(
        lambda: partition(wire, topics[dead]).leader_id == NO_NODE,
        within=WITHIN_S,
        what="a partition whose only replica is gone has no leader",
    )
    if wire.now_ms() - begun_ms > TIMEOUT_MS:
        wire.unclear("the transaction was over before the partition had no leader", "slow-target")
    for node in alive:
        other.send(topics[node], "of the other").must_succeed()
    other.commit().must_succeed()
    for node in alive:
        with wire.part(f"on node {node}"):
            wire.await_settled(topics[node], within=WITHIN_S)
            wire.read_all(topics[node], isolation=COMMITTED).must_hold("of the other")
    nodes.start(dead)
    wire.await_topic(topics[dead])
    wire.delete_topic(topics[dead]).must_succeed()

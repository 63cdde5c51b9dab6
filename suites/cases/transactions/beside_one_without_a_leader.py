"""Transactions that end while one of their partitions has no leader: the others do not wait for it (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, partition, placed
from brokertrial.suites.cases.transactions.without_a_leader import _coordinated_elsewhere
from brokertrial.suites.probe import COMMITTED

TIMEOUT_MS = 60_000
ALONE = {"min.insync.replicas": "1"}


@case(
    "transactions/ends-beside-one-without-a-leader",
    guarantees=["txn-001", "txn-004", "txn-011"],
    needs=["three-nodes", "leaders", "kill", "restart", "topic-settings"],
    apis={"InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0, "DeleteTopics": 1},
    detects=["B156"],
)
def the_others_get_their_markers(wire, nodes, rng):
    """When a transaction ends while a partition of it has no leader, each of its partitions that has one MUST be
    decided meanwhile: what was committed there is delivered and what was aborted is not, and readers of committed
    records go on, also to those of other producers.

    One producer commits and one aborts in a topic on each node, of which one is dead; a third has nothing there. What
    becomes of the partition without a leader is for `transactions/ends-without-a-leader` to say.
    """
    dead = rng.choice(wire.nodes)
    topics = {node: placed(wire, "t", [node], **ALONE) for node in wire.nodes}
    alive = [node for node in wire.nodes if node != dead]
    commits, aborts, third = (wire.producer(_coordinated_elsewhere(wire, dead), timeout_ms=TIMEOUT_MS) for _ in "123")
    for node in rng.sample(wire.nodes, len(wire.nodes)):
        for producer, value in rng.sample([(commits, "committed"), (aborts, "aborted")], 2):
            producer.send(topics[node], value).must_succeed()
    nodes.kill(dead)
    wire.until(
        lambda: partition(wire, topics[dead]).leader_id == NO_NODE,
        within=WITHIN_S,
        what="a partition whose only replica is gone has no leader",
    )
    for ends in rng.sample([commits.commit, aborts.abort], 2):
        ends().must_succeed()
    for node in alive:
        third.send(topics[node], "of the third").must_succeed()
    third.commit().must_succeed()
    for node in alive:
        with wire.part(f"on node {node}"):
            _must_be_decided(wire, topics[node], "committed", "of the third")
    nodes.start(dead)
    wire.await_topic(topics[dead])
    wire.delete_topic(topics[dead]).must_succeed()


def _must_be_decided(wire, topic, *values):
    wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*values)

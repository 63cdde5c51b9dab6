"""Transactions that are decided while one of their partitions has no leader: the others do not wait for it (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, leader_shown, placed
from brokertrial.suites.cases.transactions.without_a_leader import _coordinated_elsewhere
from brokertrial.suites.probe import COMMITTED, batch

ALONE, LONG_MS = {"min.insync.replicas": "1"}, 60_000


@case(
    "transactions/decided-where-there-is-a-leader",
    guarantees=["txn-001", "txn-002", "txn-004"],
    needs=["three-nodes", "leaders", "partitions", "kill", "restart", "topic-settings"],
    apis={"CreateTopics": 5, "InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0},
    detects=["B158"],
)
def the_others_get_their_markers(wire, nodes, rng):
    """A transaction that ends while one of its partitions has no leader MUST be decided in all others meanwhile: what
    it committed is delivered there, what it aborted is not, and what others write behind it is read.

    Two producers commit, two abort; each wrote to the node that is killed then, and to one or both of the others.
    """
    one, killed, other = rng.sample(list(wire.nodes), 3)
    topics = {node: placed(wire, "t", [node], **ALONE) for node in wire.nodes}
    producers = [wire.producer(_coordinated_elsewhere(wire, killed), timeout_ms=LONG_MS) for _ in range(4)]
    wanted: dict[int, list[str]] = {node: [] for node in topics}
    for number, producer in enumerate(producers):
        to = rng.choice(([one], [other], [one, other]))
        for node in rng.sample([killed, *to], 1 + len(to)):
            producer.send(topics[node], f"{number}").must_succeed()
            wanted[node] += [f"{number}"] * (number % 2 == 0)
    _lose(wire, nodes, killed, topics[killed], (one, other))
    for number, producer in enumerate(producers):
        (producer.commit() if number % 2 == 0 else producer.abort()).must_succeed()
    for node in (one, other):
        wire.produce(topics[node], batch("behind it")).must_succeed()
        wanted[node].append("behind it")
        _must_be_decided(wire, topics[node], wanted[node])
    wire.delete_topic(topics[killed]).must_succeed()  # what is left is let go; that it is marked is another case's
    nodes.start(killed)


def _lose(wire, nodes, killed, topic, asked):
    """The partition is nowhere, and has no leader by what these nodes know."""
    nodes.kill(killed)
    for node in asked:
        wire.until(
            lambda at=node: leader_shown(wire, topic, at) == NO_NODE,
            within=WITHIN_S,
            what=f"node {node} knows that no node leads {topic}",
        )


def _must_be_decided(wire, topic, values):
    wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*values)

"""Markers whose leader is away for much longer than an election takes: they are sent until they arrive (KIP-98)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import NO_NODE, WITHIN_S, partition, placed
from brokertrial.suites.cases.transactions.without_a_leader import _coordinated_elsewhere, _must_be_decided

AWAY_S, TIMEOUT_MS = 15, 60_000
ALONE = {"min.insync.replicas": "1"}


@case(
    "transactions/markers-wait-as-long-as-it-takes",
    guarantees=["txn-001", "txn-002", "txn-011", "txn-004"],
    needs=["three-nodes", "leaders", "kill", "restart", "topic-settings"],
    apis={"InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0},
    detects=["B352"],
)
def they_come_however_late_the_leader_is(wire, nodes, rng):
    """A transaction that was ended while a partition of it had no leader MUST be decided there as it ended when the
    leader comes back, however long that takes, and its producer MUST be able to go on.

    One producer commits and one aborts, in a topic on each node; one node is away for fifteen seconds after that.
    """
    away = rng.choice(wire.nodes)
    topics = {node: placed(wire, "t", [node], **ALONE) for node in wire.nodes}
    commits, aborts = (wire.producer(_coordinated_elsewhere(wire, away), timeout_ms=TIMEOUT_MS) for _ in "12")
    for node in rng.sample(wire.nodes, len(wire.nodes)):
        for producer, value in rng.sample([(commits, "committed"), (aborts, "aborted")], 2):
            producer.send(topics[node], value).must_succeed()
    nodes.kill(away)
    wire.until(
        lambda: partition(wire, topics[away]).leader_id == NO_NODE,
        within=WITHIN_S,
        what="a partition whose only replica is gone has no leader",
    )
    for ends in rng.sample([commits.commit, aborts.abort], 2):
        ends().must_succeed()
    wire.rest(AWAY_S)
    nodes.start(away)
    _must_be_decided(wire, topics, {node: [b"committed"] for node in topics})
    for producer in (commits, aborts):
        for node in topics:
            producer.send(topics[node], "next").must_succeed()
        producer.commit().must_succeed()
    _must_be_decided(wire, topics, {node: [b"committed", b"next", b"next"] for node in topics})

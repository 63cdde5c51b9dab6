"""Transactions that end while the leader of one of their partitions stands still: its successor gets the marker."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import COPIES, NO_NODE, all_in_sync, leader_shown, placed
from brokertrial.suites.probe import COMMITTED

WITHIN_S = 90
"""A coordinator waits for request.timeout.ms (30 s) before it asks another."""
SILENT_S = 8


@case(
    "transactions/markers-past-a-frozen-leader",
    guarantees=["txn-011", "txn-001"],
    apis={"InitProducerId": 0, "EndTxn": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "pause"],
    detects=["D83"],
)
def the_next_leader_gets_the_marker(wire, transactional_id, nodes, rng):
    """A transaction that is decided MUST come to its end in each of its partitions when the leader of one stands still,
    and does not answer its coordinator, and another has followed it.
    """
    coordinator = wire.coordinator(transactional_id, 1)
    frozen, other = rng.sample([node for node in wire.nodes if node != coordinator], 2)
    away = placed(wire, "away", [frozen, other, coordinator], **COPIES)
    near = placed(wire, "near", [coordinator, other, frozen], **COPIES)
    producer = wire.producer(transactional_id, timeout_ms=55_000)
    all_in_sync(wire, away)
    producer.send(away, "committed").must_be_at(0)
    producer.send(near, "committed").must_be_at(0)
    nodes.pause(frozen)
    producer.commit().must_succeed()
    former = (frozen, NO_NODE)
    wire.until(lambda: leader_shown(wire, away, coordinator) not in former, within=WITHIN_S, what="another leads")
    wire.rest(SILENT_S)
    nodes.resume(frozen)
    all_in_sync(wire, away)
    for topic in (away, near):
        wire.await_topic(topic)
        wire.await_settled(topic, within=WITHIN_S)
        wire.read_all(topic, isolation=COMMITTED).must_hold("committed")

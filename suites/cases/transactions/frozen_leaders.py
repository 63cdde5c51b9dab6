"""Transactions that end while the leader of one of their partitions stands still: its successor gets the marker."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._roles import COPIES, NO_NODE, all_in_sync, leader_shown, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire.messages import request

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


@case(
    "transactions/ends-beside-one-that-stays-frozen",
    guarantees=["txn-011", "txn-001"],
    apis={"InitProducerId": 0, "EndTxn": 0, "DescribeTransactions": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "pause"],
    detects=["B308"],
)
def nobody_waits_for_the_frozen_one(wire, nodes, transactional_id, rng):
    """A transaction that is decided MUST come to its end, in each of its partitions, while the node that was to mark
    one of them stands still and keeps its connections, once another leads there and request.timeout.ms is over.
    """
    coordinator = wire.coordinator(transactional_id, 1)
    frozen, other = rng.sample([node for node in wire.nodes if node != coordinator], 2)
    away = placed(wire, "away", [frozen, other, coordinator], **COPIES)
    producer = wire.producer(transactional_id, timeout_ms=55_000)
    all_in_sync(wire, away)
    producer.send(away, "committed").must_be_at(0)
    nodes.pause(frozen)
    producer.commit().must_succeed()
    wire.until(lambda: leader_shown(wire, away, coordinator) == other, within=WITHIN_S, what=f"node {other} leads")
    wire.eventually(lambda: _must_be_complete(wire, transactional_id, coordinator), within=WITHIN_S)
    wire.eventually(lambda: wire.list_offsets(away, isolation=COMMITTED, to=other).must_name(offset=2), within=WITHIN_S)
    nodes.resume(frozen)
    all_in_sync(wire, away)
    wire.await_topic(away)
    wire.read_all(away, isolation=COMMITTED).must_hold("committed")


def _must_be_complete(wire, transactional_id, coordinator):
    asked = request("DescribeTransactions", transactional_ids=[transactional_id])
    answer = wire.ask(asked, to=coordinator).must_succeed()
    answer.must_have("transaction_states[0].transaction_state", "CompleteCommit")

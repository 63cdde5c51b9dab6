"""Markers that another coordinator sends again, since it does not know which of them are written."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import WITHIN_S
from brokertrial.suites.cases.replication._roles import all_in_sync, partition, placed
from brokertrial.suites.cases.transactions.reassigned_coordinators import CoordinatorLogs
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.coordinator_writes import coordinator_partition, names_in

ALONE, BOTH = {"min.insync.replicas": "1"}, {"min.insync.replicas": "2"}
STATE_TOPIC, TRANSACTION = "__transaction_state", 1
TIMEOUT_MS, MEANWHILE_S = 55_000, 2
"""So long the next coordinator meets a partition that takes no markers."""


@case(
    "transactions/markers-again-by-another-coordinator",
    guarantees=["txn-001", "txn-002", "txn-011", "txn-023"],
    apis={"AlterPartitionReassignments": 0, "ElectLeaders": 1, "EndTxn": 0, "DescribeTransactions": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["J09"],
)
def what_is_decided_is_decided_everywhere(wire, group, transactional_id, nodes, rng):
    """A transaction that is decided MUST come to its end in each of its partitions when another node comes to
    coordinate it, though some of them have its marker already: what it committed is delivered in all, what it aborted
    in none, and its producer goes on with its next transaction.

    Two transactions, one committed and one aborted, over two partitions, of which one takes no markers until the other
    coordinator has taken over: too few of its replicas are in sync.
    """
    former = wire.coordinator(transactional_id, TRANSACTION)
    logs = CoordinatorLogs(wire, group, transactional_id, asked=former)
    dead, other = rng.sample([node for node in wire.nodes if node != former], 2)
    first = placed(wire, "first", [rng.choice([former, other])], **ALONE)
    away = placed(wire, "away", [rng.choice([former, other]), dead], **BOTH)
    all_in_sync(wire, away)
    ids = [transactional_id, _beside(wire, transactional_id)]
    producers = [wire.producer(name, timeout_ms=TIMEOUT_MS) for name in ids]
    commits, aborts = producers
    for producer, value in ((commits, "committed"), (aborts, "aborted")):
        for topic in (first, away):
            producer.send(topic, value).must_succeed()
    nodes.kill(dead)
    wire.until(lambda: dead not in partition(wire, away).isr_nodes, within=WITHIN_S, what=f"{dead} is out of sync")
    commits.commit().must_succeed()
    aborts.abort().must_succeed()
    wire.await_settled(first, within=WITHIN_S)
    logs.replicas_become(STATE_TOPIC, [other, former])
    wire.forget_coordinator(ids[1], TRANSACTION)
    wire.rest(MEANWHILE_S)
    nodes.start(dead)
    logs.replicas_become(STATE_TOPIC, [other, former, dead])
    wire.forget_coordinator(ids[1], TRANSACTION)
    _must_be_decided(wire, (first, away), "committed")
    for name in ids:
        wire.eventually(lambda name=name: _must_have_ended(wire, name), within=WITHIN_S)
    aborts.start()
    for producer in producers:
        for topic in (first, away):
            producer.send(topic, "next").must_succeed()
        producer.commit().must_succeed()
    _must_be_decided(wire, (first, away), "committed", "next", "next")


def _beside(wire, transactional_id):
    """Another that the same node coordinates, now and later."""
    (row,) = wire.metadata(STATE_TOPIC).struct.topics
    count = len(row.partitions)
    return next(names_in(wire, coordinator_partition(transactional_id, count), count))


def _must_have_ended(wire, name):
    state = wire.describe_transaction(name).must_succeed().struct.transaction_states[0].transaction_state
    wire.must(state.startswith("Complete"), f"a transaction that is decided in each partition is {state}")


def _must_be_decided(wire, topics, *values):
    for topic in topics:
        wire.await_topic(topic)
        wire.await_settled(topic, within=WITHIN_S)
        wire.read_all(topic, isolation=COMMITTED).must_hold(*values)

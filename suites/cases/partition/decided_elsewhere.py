"""Transactions that another coordinator brought to their end while the former could not reach a partition."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.partition._replicas import NEEDS
from brokertrial.suites.cases.partition.coordinators_alone import ALONE, TRANSACTION, coordinated_by
from brokertrial.suites.cases.replication._handing_over import APIS, STATE_TOPIC, hand_over
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.apart import apart
from brokertrial.wire.messages import request

LOOKS, BETWEEN_S = 8, 0.3
"""A coordinator tries again what it could not do some times a second."""


@case(
    "partition/decided-elsewhere-meanwhile",
    guarantees=["txn-011", "txn-017", "txn-021", "txn-004"],
    needs=[*NEEDS, "partitions"],
    apis={"CreateTopics": 5, "EndTxn": 0, "DescribeTransactions": 0, **APIS},
    detects=["K39"],
)
def who_coordinates_again_leaves_the_next_transaction_alone(wire, nodes, rng):
    """A coordinator that could not reach a partition of a transaction, and is replaced, MUST leave the next transaction
    of that producer alone when it coordinates again: this one MUST stay open until it is ended, and MUST be ended in
    its partitions as it was asked for.

    Twice: the partition's leader hears no other broker at first, and hears all but the one that coordinated.
    """
    first, second, leader = rng.sample(wire.nodes, 3)
    topic = placed(wire, "t", [leader], **ALONE)
    producer = wire.producer(coordinated_by(wire, first, TRANSACTION))
    values = []
    for number, parted in enumerate(rng.sample(([leader], [first, leader]), 2)):
        values += [f"{number} first", f"{number} second"]
        producer.send(topic, values[-2]).must_succeed()
        with apart(nodes, parted[0], "brokers", parted[1:]):
            producer.commit().must_succeed()
            coordination_goes(wire, first, second)
        wire.await_settled(topic, within=WITHIN_S)
        begins = producer.send(topic, values[-1]).offset
        hand_over(wire, STATE_TOPIC, second, first)
        wire.forget_coordinator(producer.transactional_id, TRANSACTION)
        for _ in range(LOOKS):
            must_be_open(wire, producer, topic, begins)
            wire.rest(BETWEEN_S)
        producer.commit().must_succeed()
        wire.await_settled(topic, within=WITHIN_S)
        wire.read_all(topic, isolation=COMMITTED).must_hold(*values)


def coordination_goes(wire, former, to):
    """Another leads what a node led of the coordinators' log, whoever is in sync of it."""
    rows = [row for row in shown(wire) if row.leader_id == former]
    numbers = [row.partition_index for row in rows]
    orders = [[to, *(node for node in row.replica_nodes if node != to)] for row in rows]
    parts = [{"partition_index": number, "replicas": order} for number, order in zip(numbers, orders, strict=True)]
    moved = request(
        "AlterPartitionReassignments", timeout_ms=10_000, topics=[{"name": STATE_TOPIC, "partitions": parts}]
    )
    wire.ask(moved, to=wire.controller).must_succeed()
    elected = request(
        "ElectLeaders", timeout_ms=10_000, topic_partitions=[{"topic": STATE_TOPIC, "partitions": numbers}]
    )

    def is_led():
        wire.ask(elected, to=wire.controller).examined = True
        return all(row.leader_id == to for row in shown(wire) if row.partition_index in numbers)

    wire.until(is_led, within=WITHIN_S, what=f"node {to} leads what node {former} led of {STATE_TOPIC}")
    for kind, key in wire.known_coordinators:
        wire.forget_coordinator(key, kind)


def shown(wire):
    """What a node shows of the coordinators' log."""
    return wire.metadata(STATE_TOPIC, to=wire.controller).struct.topics[0].partitions


def must_be_open(wire, producer, topic, begins):
    """By its coordinator, and in its partition."""
    described = wire.describe_transaction(producer.transactional_id).must_succeed()
    state = described.struct.transaction_states[0].transaction_state
    described.must(state == "Ongoing", f"it is {state}; it is open, and nobody has ended it")
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=begins)

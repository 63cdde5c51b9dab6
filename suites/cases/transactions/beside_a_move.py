"""What a transaction coordinator does by itself for the ids that it keeps, when others of its ids move."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import APIS as MOVES
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC
from brokertrial.suites.cases.replication._led_in_turn import comes_to_lead, shown
from brokertrial.suites.cases.replication._roles import WITHIN_S, placed
from brokertrial.suites.cases.transactions.expired import CLEAN_UP, GONE
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.apart import apart
from brokertrial.suites.probe.coordinator_writes import coordinator_partition, names_in
from brokertrial.wire import errors

TRANSACTION, LONG_MS, SHORT_MS = 1, 55_000, 8_000
ALONE = {"min.insync.replicas": "1"}


@case(
    "transactions/ended-while-others-are-handed-over",
    guarantees=["txn-011", "txn-021", "txn-008"],
    apis={"InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0, **MOVES},
    needs=["started", "three-nodes", "leaders", "partitions", "topic-settings", "network"],
    detects=["B94"],
)
def those_that_stay_come_to_their_end(wire, transactional_id, nodes, rng):
    """When a coordinator hands a partition of its log to another node, and gets it back or not, all other transactions
    that it coordinates MUST come to their end: what is decided, committed or aborted, also in a partition whose leader
    it does not reach meanwhile, and what is open for longer than its timeout.

    Two are decided while the node that leads a partition of theirs is cut off from the other brokers; one is left open.
    """
    wire.needs_setting(CLEAN_UP, at_most=10_000)
    node = wire.coordinator(transactional_id, TRANSACTION)
    far, other = rng.sample([each for each in wire.nodes if each != node], 2)
    (row,) = wire.metadata(STATE_TOPIC, to=node).struct.topics
    count = len(row.partitions)
    own = coordinator_partition(transactional_id, count)
    goes = [index for index in range(count) if index != own]
    if not goes or any(len(part.replica_nodes) < len(wire.nodes) for part in row.partitions):
        wire.not_applicable(f"{STATE_TOPIC} does not have several partitions on each node")
    goes = rng.choice(goes)
    _is_led_by(wire, node, goes, node)
    away, here = placed(wire, "away", [far], **ALONE), placed(wire, "here", [node], **ALONE)
    aborts, expires = (
        wire.producer(name, timeout_ms=ms)
        for name, ms in zip(islice(names_in(wire, own, count), 2), (LONG_MS, SHORT_MS), strict=True)
    )
    commits = wire.producer(transactional_id, timeout_ms=LONG_MS)
    for producer, value in ((commits, "committed"), (aborts, "aborted")):
        for topic in (away, here):
            producer.send(topic, value).must_succeed()

    with apart(nodes, far, "brokers"):
        expires.send(here, "left open").must_succeed()
        for ends in rng.sample([commits.commit, aborts.abort], 2):
            ends().must_succeed()
        _is_led_by(wire, node, goes, other)
        if rng.random() < 0.5:
            _is_led_by(wire, node, goes, node)
    for topic in (away, here):
        with wire.part("where it was cut off" if topic == away else "where it coordinates"):
            wire.await_settled(topic, within=WITHIN_S)
            wire.read_all(topic, isolation=COMMITTED).must_hold("committed")
    expires.commit().must_be_refused(*GONE, errors.INVALID_TXN_STATE)
    commits.send(away, "next").must_succeed()
    commits.commit().must_succeed()
    wire.await_settled(away, within=WITHIN_S)
    wire.read_all(away, isolation=COMMITTED).must_hold("committed", "next")


def _is_led_by(wire, asked, index, node):
    replicas = shown(wire, STATE_TOPIC, asked, index).replica_nodes
    comes_to_lead(wire, STATE_TOPIC, [node, *(each for each in replicas if each != node)], asked, index)

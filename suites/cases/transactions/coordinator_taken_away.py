"""A transaction coordinator loses its replica of the transactions' log, and gets it back when they are others."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import WITHIN_S, must_not_be_known_to
from brokertrial.suites.cases.transactions.markers_sent_again import STATE_TOPIC, TRANSACTION, _beside
from brokertrial.suites.cases.transactions.reassigned_coordinators import CoordinatorLogs
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors
from brokertrial.wire.messages import request

TIMEOUT_MS = 55_000
FENCED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)


@case(
    "transactions/coordinator-replica-taken-away-and-back",
    guarantees=["txn-007", "txn-021", "txn-026"],
    apis={
        "AlterPartitionReassignments": 0,
        "ElectLeaders": 1,
        "InitProducerId": 0,
        "EndTxn": 0,
        "DescribeTransactions": 0,
        "ListTransactions": 0,
    },
    needs=["started", "three-nodes", "leaders", "partitions", "topic-settings", "kill"],
    detects=["J10"],
)
def it_knows_what_is_now(wire, group, transactional_id, rng):
    """A coordinator whose replica of the transactions' log is taken away MUST NOT describe or list the transactional
    ids any more. When it is given back the replica it MUST know them as they are then: a transaction that ended
    elsewhere and the next one that began, an epoch that was given there, which fences the one that it knew.
    """
    former = wire.coordinator(transactional_id, TRANSACTION)
    logs = CoordinatorLogs(wire, group, transactional_id, asked=former)
    topic, others = logs.topic, rng.sample([node for node in wire.nodes if node != former], 2)
    names = [transactional_id, _beside(wire, transactional_id)]
    goes_on, fenced = (wire.producer(name, timeout_ms=TIMEOUT_MS) for name in names)
    goes_on.send(topic, "one").must_succeed()
    fenced.send(topic, "never").must_succeed()
    before = (fenced.id, fenced.epoch)

    _are_led_by(wire, logs, names, others)
    _must_be_gone(wire, former, names)
    goes_on.commit().must_succeed()
    goes_on.send(topic, "two").must_succeed()
    fenced.start()

    _are_led_by(wire, logs, names, [former, *others])
    _must_be_gone(wire, others[0], names)
    row = wire.describe_transaction(names[0]).must_succeed().struct.transaction_states[0]
    wire.must(
        (row.transaction_state, row.producer_epoch) == ("Ongoing", goes_on.epoch),
        f"{row.transaction_state} in epoch {row.producer_epoch} is described; the transaction is open in epoch "
        f"{goes_on.epoch}",
    )
    wire.end_txn(names[1], *before, commit=True).must_be_refused(*FENCED)
    fenced.send(topic, "three").must_succeed()
    for producer in (goes_on, fenced):
        producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("one", "two", "three")


def _are_led_by(wire, logs, names, replicas):
    logs.replicas_become(STATE_TOPIC, replicas)
    for name in names:
        wire.forget_coordinator(name, TRANSACTION)


def _must_be_gone(wire, node, names):
    """This node describes and lists none of them."""
    must_not_be_known_to(
        wire,
        node,
        request("DescribeTransactions", transactional_ids=names),
        lambda response: [row.error_code for row in response.transaction_states],
    )
    wire.eventually(lambda: _must_not_list(wire, node, names), within=WITHIN_S)


def _must_not_list(wire, node, names):
    answer = wire.ask(request("ListTransactions", state_filters=[]), to=node).must_succeed()
    found = [row.transactional_id for row in answer.struct.transaction_states if row.transactional_id in names]
    answer.must(not found, f"node {node} lists {found}, which another node coordinates", "transaction_states")

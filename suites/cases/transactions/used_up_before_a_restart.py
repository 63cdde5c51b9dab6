"""The end of a transaction in the last epoch, sent again to a coordinator that has begun anew since (KIP-890)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.transactions._last_epoch import FENCED, LAST_EPOCH, use_up
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

TRANSACTION, PATIENT_MS = 1, 60_000
END = 5
"""The first version of EndTxn whose answer has the next producer id and epoch."""


@case(
    "transactions/used-up-before-a-restart",
    guarantees=["txn-010", "txn-021", "txn-029", "txn-001"],
    apis={"InitProducerId": 3, "EndTxn": END, "DescribeTransactions": 0},
    features={"transaction.version": 2},
    needs=["kill", "terminate", "restart"],
    detects=["B319"],
)
def the_former_id_is_known_after_a_restart(wire, topic, nodes, rng):
    """An end in the last epoch of a producer id, sent again after its coordinator was stopped or killed, MUST succeed
    with the new producer id that it was answered first, and the opposite MUST be refused (48). What was written in the
    last epoch MUST be decided as it was ended. Once the new id has ended a transaction the old one MUST be refused.

    One transaction, which is committed or aborted; its coordinator is stopped and killed, in a drawn order.
    """
    commit = rng.random() < 0.5
    producer = wire.producer(wire.name("x"), timeout_ms=PATIENT_MS)
    use_up(wire, producer)
    first = producer.id
    producer.send(topic, "in the last epoch").must_succeed()
    (producer.commit if commit else producer.abort)().must_succeed()
    wire.must(
        producer.id != first and producer.epoch == 0,
        f"{first} is used up; the next is {producer.id} with epoch {producer.epoch}",
    )
    wire.await_settled(topic)
    for act in rng.sample([nodes.stop_and_start, nodes.crash], 2):
        act(_coordinator(wire, producer.transactional_id))
        wire.await_topic(topic)
        _must_end_again(wire, producer, first, commit)
    producer.send(topic, "by the next id").must_succeed()
    producer.commit().must_succeed()
    wire.await_settled(topic)
    late = wire.end_txn(producer.transactional_id, first, LAST_EPOCH, commit=commit, version=END)
    late.must_be_refused(*FENCED)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*["in the last epoch"] * commit, "by the next id")


def _must_end_again(wire, producer, first, commit):
    name = producer.transactional_id
    again = wire.end_txn(name, first, LAST_EPOCH, commit=commit, version=END).must_succeed()
    found, wanted = (again.producer_id, again.epoch), (producer.id, producer.epoch)
    again.must(found == wanted, f"it is answered with {found}; it had been {wanted}", "producer_id")
    other = wire.end_txn(name, first, LAST_EPOCH, commit=not commit, version=END)
    other.must_be_refused(errors.INVALID_TXN_STATE)


def _coordinator(wire, transactional_id):
    wire.forget_coordinator(transactional_id, TRANSACTION)
    return wire.coordinator(transactional_id, TRANSACTION)

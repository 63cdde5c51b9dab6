"""Markers that say that their transaction is of version 2, whose every end raises the epoch (KIP-1228)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors
from brokertrial.wire.messages import request

ROW = "topics[0].partitions[0].active_producers[0]"


@case(
    "transactions/marker-of-the-open-epoch",
    guarantees=["txn-030", "txn-004", "txn-017"],
    apis={"WriteTxnMarkers": 2, "AddPartitionsToTxn": 0, "EndTxn": 5, "DescribeProducers": 0},
    features={"transaction.version": 2},
    detects=["D69"],
)
def a_marker_of_the_open_epoch_is_of_the_transaction_before(wire, topic, transactional_id, rng):
    """A marker that is said to be of transaction version 2 MUST be refused (47) where its epoch is not higher than that
    of the open transaction, for each end raises it: it is of the transaction before, and ends nothing. Where no
    transaction is open, one of the newest epoch has been sent again, and MUST be accepted (KAFKA-19999).

    Two transactions of one producer, with markers that a late coordinator could have sent while the second is open.
    """
    one = wire.producer(transactional_id, timeout_ms=50_000)
    one.send(topic, "a").must_be_at(0)
    one.commit().must_succeed()
    wire.await_settled(topic)
    one.send(topic, "b").must_be_at(2)
    known = wire.describe_producers(topic).must_succeed()
    epoch, coordinator = known.at(f"{ROW}.producer_epoch"), known.at(f"{ROW}.coordinator_epoch")
    for commit in rng.sample([True, False], 2):
        with wire.part("a commit" if commit else "an abort"):
            answer = _marked(wire, one.id, topic, epoch, coordinator, commit)
            _must_be(answer, errors.INVALID_PRODUCER_EPOCH, f"of epoch {epoch}, in which a transaction is open")
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=2)
    wire.list_offsets(topic).must_name(offset=3)
    one.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("a", "b")

    known = wire.describe_producers(topic).must_succeed()
    epoch, coordinator = known.at(f"{ROW}.producer_epoch"), known.at(f"{ROW}.coordinator_epoch")
    _must_be(_marked(wire, one.id, topic, epoch, coordinator, True), 0, f"of epoch {epoch}, sent again")
    wire.read_all(topic, isolation=COMMITTED).must_hold("a", "b")
    one.send(topic, "c").must_succeed()
    one.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("a", "b", "c")


def _marked(wire, producer_id, topic, epoch, coordinator, commit):
    marker = {
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "transaction_result": commit,
        "topics": [{"name": topic, "partition_indexes": [0]}],
        "coordinator_epoch": coordinator,
        "transaction_version": 2,
    }
    return wire.ask(request("WriteTxnMarkers", markers=[marker]), to=wire.leader(topic))


def _must_be(answer, wanted, of):
    found = answer.struct.markers[0].topics[0].partitions[0].error_code
    answer.must(found == wanted, f"a marker {of} is answered {found}; it must be {wanted}", "markers")

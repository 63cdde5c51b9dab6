"""Which batches a partition takes from a producer with a transactional id (KIP-98, KIP-890)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
ADDED_FIRST = 11  # the last Produce that adds no partition by itself
VERIFICATION = "transaction.partition.verification.enable"
TAKEN = edit_answer("responses[].partition_responses[].error_code", set=0, api="Produce")


@case("transactions/plain-in-between", guarantee="txn-019", apis=TRANSACTIONS, detects=[TAKEN])
def a_plain_batch_within_a_transaction_is_refused(wire, topic, transactional_id):
    """While a producer has a transaction open on a partition, its batch that is not transactional SHOULD be refused
    (48) and not be written.
    """
    producer = wire.producer(transactional_id)
    producer.send(topic, "in it")
    plain = producer.batch("beside it", sequence=1, transactional=False)

    wire.produce(topic, plain).must_be_refused(errors.INVALID_TXN_STATE)

    wire.list_offsets(topic).must_name(offset=1)
    producer.send(topic, "in it too").must_be_at(1)
    producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("in it", "in it too")


@case(
    "transactions/not-added",
    guarantee="txn-020",
    apis={**TRANSACTIONS, "Produce": 3},
    since="3.6 (KIP-890)",
    detects=[TAKEN],
)
def a_batch_outside_any_transaction_is_refused(wire, topic, transactional_id):
    """A transactional batch to a partition that was not added to the transaction MUST be refused (48 or 120) up to
    Produce v11, and MUST NOT hold up readers.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    producer = wire.producer(transactional_id)
    stray = producer.batch("stray", sequence=0)

    version = min(ADDED_FIRST, wire.versions("Produce")[-1])
    refused = wire.produce(topic, stray, transactional_id=transactional_id, version=version)
    refused.must_be_refused(errors.INVALID_TXN_STATE, errors.TRANSACTION_ABORTABLE)

    wire.await_settled(topic)
    wire.read_all(topic).must_hold()


@case(
    "transactions/joined-by-writing",
    guarantees=["txn-020", "txn-016"],
    apis={**TRANSACTIONS, "Produce": 12, "EndTxn": 5},
    features={"transaction.version": 2},
    detects=["M15a", "M20"],
)
def writing_joins_the_transaction_and_each_end_raises_the_epoch(wire, topic, transactional_id):
    """With transaction.version 2 a partition MUST join the transaction by being written to, the end of the
    transaction MUST decide over it, and the next one MUST have a higher epoch, in which sequence 0 is not a duplicate.
    """
    producer = wire.producer(transactional_id)
    before = producer.epoch
    producer.send(topic, "aborted", sequence=0).must_be_at(0)
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=0)
    producer.abort().must_have("producer_epoch", before + 1)

    producer.send(topic, "committed", sequence=0).must_be_at(2)
    producer.commit().must_have("producer_epoch", before + 2)
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("committed")

"""A transaction that expires in the last epoch of its producer id (KIP-360, KIP-890)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.transactions._last_epoch import FENCED, LAST_EPOCH, use_up
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

CLEAN_UP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
TIMEOUT_MS, WITHIN_S = 1_500, 20
REFUSED = (*FENCED, errors.INVALID_TXN_STATE)


@case(
    "transactions/expires-in-the-last-epoch",
    guarantees=["txn-007", "txn-008", "txn-029", "txn-001", "txn-002"],
    apis={"InitProducerId": 3, "AddPartitionsToTxn": 0, "EndTxn": 0, "DescribeTransactions": 0},
    detects=["C12", "K16"],
)
def a_producer_whose_last_transaction_expired_goes_on(wire, topic, transactional_id):
    """A transaction that is open past its timeout in the last epoch (32766) of its producer id MUST be aborted; its
    commit MUST be refused from then on, and its abort MUST be refused, or return an id and an epoch to go on with. In
    any case the transactional id MUST go on with another producer id, whose transactions end as any others.
    """
    wire.needs_setting(CLEAN_UP, at_most=10_000)
    producer = wire.producer(transactional_id, timeout_ms=TIMEOUT_MS)
    first = producer.id
    use_up(wire, producer)
    producer.send(topic, "expires").must_be_at(0)

    def ended():
        row = wire.describe_transaction(transactional_id).must_succeed()
        return row.at("transaction_states[0].transaction_state") != "Ongoing"

    wire.until(ended, within=WITHIN_S, what="the transaction is aborted for its timeout")
    wire.await_settled(topic, within=WITHIN_S)
    for version in wire.versions("EndTxn")[-2:]:
        ends = {"version": version, "producer_id": first, "epoch": LAST_EPOCH}
        with wire.part(f"EndTxn v{version}"):
            wire.end_txn(transactional_id, **ends, commit=True).must_be_refused(*REFUSED)
        late = wire.end_txn(transactional_id, **ends, commit=False)
        if late.error or version < 5:
            late.must_be_refused(*REFUSED)
        else:
            producer.id, producer.epoch = late.producer_id, late.epoch
            producer.sequences.clear()
    if producer.id == first and producer.epoch == LAST_EPOCH:
        producer.start()
    for value in ("first", "second"):
        wire.must(
            producer.id != first and producer.epoch <= LAST_EPOCH,
            f"{first} is used up; the producer is given {producer.id} and epoch {producer.epoch} to go on with",
        )
        producer.send(topic, value).must_succeed()
        producer.commit().must_succeed()
        wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("first", "second")

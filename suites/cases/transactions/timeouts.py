"""How long a transaction may stay open (transaction.timeout.ms, transaction.max.timeout.ms)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
WITHIN_S, ALLOWED_MS, LARGEST_MS = 30, 30_000, 2**31 - 1
CLEAN_UP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
LATE = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED, errors.INVALID_TXN_STATE)


@case("transactions/timeout-aborts", guarantee="txn-008", apis=TRANSACTIONS, detects=["M40g"])
def a_transaction_past_its_timeout_is_aborted(wire, topic, transactional_id):
    """A transaction that stays open past its timeout MUST be aborted by the broker: readers get on, none of its
    records is delivered under read_committed, and the producer's late commit is refused.
    """
    wire.needs_setting(CLEAN_UP, at_most=10_000)
    producer = wire.producer(transactional_id, timeout_ms=1_500)
    producer.send(topic, "abandoned")
    wire.produce(topic, batch("plain"))

    wire.await_settled(topic, within=15)

    producer.commit().must_be_refused(errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED, errors.INVALID_TXN_STATE)
    wire.read_all(topic, isolation=COMMITTED).must_hold("plain")


@case(
    "transactions/timeout-of-offsets-alone",
    guarantees=["txn-008", "txn-012", "txn-014"],
    apis={"AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "EndTxn": 0, "OffsetFetch": 7},
    detects=["Z23"],
)
def a_transaction_of_offsets_alone_is_aborted_too(wire, topic, group, transactional_id):
    """A transaction past its timeout that wrote no records but offsets MUST be aborted by the broker, too: the group
    has its offsets of before, and MUST NOT be unstable any more, and the producer's late commit is refused.

    Beside it a transaction of both, whose offsets MUST NOT be in force either.
    """
    wire.needs_setting(CLEAN_UP, at_most=10_000)
    alone, both = (wire.producer(name, timeout_ms=1_500) for name in (transactional_id, wire.name("x")))
    other = wire.name("g")
    for of in (group, other):
        wire.commit(of, topic, offset=3).must_succeed()
    alone.send_offsets(group, {(topic, 0): 9}).must_succeed()
    both.send(topic, "abandoned").must_succeed()
    both.send_offsets(other, {(topic, 0): 9}).must_succeed()

    for of in (group, other):
        wire.until(
            lambda of=of: not wire.committed(of, topic, require_stable=True).error,
            within=WITHIN_S,
            what="the transaction has ended, and the offset is stable",
        )
        wire.committed(of, topic, require_stable=True).must_be(3)
    for producer in (alone, both):
        producer.commit().must_be_refused(*LATE)
    later = wire.producer(transactional_id)
    later.send_offsets(group, {(topic, 0): 4}).must_succeed()
    later.commit().must_succeed()
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(4), within=WITHIN_S)


@case(
    "transactions/timeout-bounds",
    guarantee="txn-009",
    apis=TRANSACTIONS,
    detects=[edit_answer("error_code", set=0, api="InitProducerId")],
)
def a_timeout_beyond_the_maximum_is_refused(wire, transactional_id):
    """A transaction timeout above transaction.max.timeout.ms, or not above 0, MUST be refused (50), and a refused
    request MUST NOT use up an epoch; the maximum itself MUST be accepted. Where the broker describes no maximum, none
    is judged.
    """
    limit = wire.setting("transaction.max.timeout.ms") or ""
    most = int(limit) if limit.isdigit() else ALLOWED_MS
    above = {most + 1, LARGEST_MS} if limit.isdigit() and most < LARGEST_MS else set()
    first = wire.init_producer_id(transactional_id, timeout_ms=most).must_succeed()

    for timeout_ms in (*sorted(above), 0, -1):
        with wire.part(f"{timeout_ms} ms"):
            refused = wire.init_producer_id(transactional_id, timeout_ms=timeout_ms)
            refused.must_be_refused(errors.INVALID_TRANSACTION_TIMEOUT)

    again = wire.init_producer_id(transactional_id, timeout_ms=most).must_have("producer_id", first.producer_id)
    again.must_have("producer_epoch", first.epoch + 1)

"""Transactions past their timeout: one among others, with all that it held (transaction.timeout.ms)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
GONE = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)
CLEAN_UP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
WITHIN_S, SHORT_MS, OPEN_MS = 20, 4_000, 600_000


@case(
    "transactions/one-of-three-expires",
    guarantees=["txn-008", "txn-012", "txn-007"],
    apis={**TRANSACTIONS, "AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "OffsetFetch": 7, "DescribeTransactions": 0},
    needs=["partitions"],
    detects=["M40g"],
)
def a_transaction_that_expires_goes_alone_and_whole(wire, topic_of, group, transactional_id):
    """A transaction past its timeout MUST be aborted in all its partitions and with its offsets, and no other with it;
    whatever its producer still sends MUST be refused as fenced, until it begins anew, in a higher epoch.

    Three are open in one partition; the oldest is the one that expires, the youngest commits before, the other after.
    """
    wire.needs_setting(CLEAN_UP, at_most=10_000)
    topic = topic_of(partitions=2)
    expires = wire.producer(transactional_id, timeout_ms=SHORT_MS)
    stays, ends = (wire.producer(wire.name(what), timeout_ms=OPEN_MS) for what in ("stays", "ends"))
    expires.send(topic, "expires").must_be_at(0)
    stays.send(topic, "stays").must_be_at(1)
    ends.send(topic, "ends").must_be_at(2)
    expires.send(topic, "expires too", partition=1).must_be_at(0)
    expires.send_offsets(group, {(topic, 0): 5}).must_succeed()
    ends.commit().must_succeed()
    began = expires.epoch

    wire.eventually(lambda: wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=1), within=WITHIN_S)
    wire.await_settled(topic, 1, within=WITHIN_S)
    wire.eventually(lambda: wire.committed(group, topic, require_stable=True).must_be(-1), within=WITHIN_S)
    late = wire.produce(topic, expires.batch("late", sequence=1), transactional_id=transactional_id)
    late.must_be_refused(*GONE, errors.INVALID_TXN_STATE, errors.TRANSACTION_ABORTABLE)
    expires.add(topic).must_be_refused(*GONE)
    answer = wire.describe_transaction(stays.transactional_id)
    answer.must_have("transaction_states[0].transaction_state", "Ongoing")

    stays.send(topic, "stays still").must_succeed()
    stays.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("stays", "ends", "stays still")
    wire.read_all(topic, 1, isolation=COMMITTED).must_hold()
    again = wire.producer(transactional_id)
    wire.must(again.epoch > began, f"the epoch is {again.epoch} after {began} expired; it must be higher")
    again.send(topic, "anew", partition=1).must_succeed()
    again.commit().must_succeed()
    wire.await_settled(topic, 1)
    wire.read_all(topic, 1, isolation=COMMITTED).must_hold("anew")

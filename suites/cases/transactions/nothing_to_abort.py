"""Transactions that are aborted before anything was written in them, by a producer whose epoch each end raises."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

FENCED = (
    errors.INVALID_PRODUCER_EPOCH,
    errors.PRODUCER_FENCED,
    errors.INVALID_TXN_STATE,
    errors.TRANSACTION_ABORTABLE,
)
ENDS = ("commit", "abort", "nothing", "nothing")


@case(
    "transactions/nothing-to-abort",
    guarantees=["txn-020", "txn-017"],
    apis={"EndTxn": 5, "Produce": 12},
    features={"transaction.version": 2},
    detects=["Z58"],
)
def each_abort_of_nothing_raises_the_epoch(wire, topic, transactional_id, rng):
    """With transaction.version 2 an abort MUST be accepted where nothing was written, and MUST raise the epoch,
    whatever was before it: a new producer, a commit, an abort, or another abort of nothing. What is sent late in the
    epoch before MUST be refused and be part of no later transaction.

    After a fresh start, and after ends in a drawn order.
    """
    producer, committed = wire.producer(transactional_id), []
    for number, end in enumerate(["nothing", *rng.sample(ENDS, len(ENDS))]):
        if end != "nothing":
            producer.send(topic, f"{end} {number}", sequence=0).must_succeed()
            (producer.commit if end == "commit" else producer.abort)().must_succeed()
            committed += [f"{end} {number}"] if end == "commit" else []
            wire.await_settled(topic)
        before = producer.epoch
        late = producer.batch(f"late {number}", sequence=0)
        producer.abort().must_have("producer_epoch", before + 1)
        wire.produce(topic, late, transactional_id=transactional_id).must_be_refused(*FENCED)
    producer.send(topic, "last", sequence=0).must_succeed()
    producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*committed, "last")

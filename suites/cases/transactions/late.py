"""Requests of a transaction that has ended, which arrive late: they sat in a router while the client went on (KIP-890).

The client of the case sends them again itself, over another connection: to a broker that is the same.
"""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
ADDED_FIRST = 11  # the last Produce that adds no partition by itself
WITHIN_S = 10
VERIFICATION = "transaction.partition.verification.enable"
FENCED = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED)


@case(
    "transactions/late-end",
    guarantee="txn-017",
    apis={**TRANSACTIONS, "EndTxn": 5},
    features={"transaction.version": 2},
    detects=["M20"],
)
def the_end_of_an_earlier_transaction_decides_nothing_later(wire, topic, transactional_id):
    """With transaction.version 2 an EndTxn of an earlier transaction MUST be refused while a later one is open, and
    the later one MUST stay open until its own end.

    Commit and abort arrive late, then the later transaction is aborted: nothing of it may be seen.
    """
    producer = wire.producer(transactional_id)
    producer.send(topic, "first")
    late = {"producer_id": producer.id, "epoch": producer.epoch}
    producer.commit().must_succeed()
    second = producer.send(topic, "second").must_succeed()

    for commit in (True, False):
        wire.end_txn(transactional_id, **late, commit=commit, via="late").must_be_refused(*FENCED)
    wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=second.offset)

    producer.abort().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("first")


@case(
    "transactions/late-write",
    guarantee="txn-018",
    apis={**TRANSACTIONS, "Produce": 3},
    since="3.6 (KIP-890)",
    detects=["M20"],
)
def a_write_of_an_ended_transaction_opens_none(wire, topic_of, transactional_id):
    """A Produce that arrives after its transaction has ended MUST be refused, and MUST NOT open a transaction that is
    never ended: the last stable offset moves on.

    The late batch is the producer's next one, so that its sequence alone gives no reason to refuse it. It comes after a
    commit and after an abort, each in a topic of its own. While the coordinator is busy the leader cannot have the
    batch verified, and refuses it with a retriable code: what counts is the answer after that.
    """
    if wire.setting(VERIFICATION) == "false":
        wire.not_applicable(f"{VERIFICATION} is false on this cluster", "refused-by-settings")
    version = None if wire.transaction_version >= 2 else min(ADDED_FIRST, wire.versions("Produce")[-1])
    for commit in (True, False):
        topic = topic_of(what="committed" if commit else "aborted")
        producer = wire.producer(transactional_id)
        producer.send(topic, "in time").must_succeed()
        late = producer.batch("late", sequence=1)
        (producer.commit if commit else producer.abort)().must_succeed()
        wire.await_settled(topic)

        answer = wire.produce(topic, late, transactional_id=transactional_id, version=version, via="late")
        answer.must_be_refused(*FENCED, errors.INVALID_TXN_STATE, errors.TRANSACTION_ABORTABLE)
        wire.read_all(topic).must_hold("in time")
        wire.eventually(  # the marker may become readable only now
            lambda topic=topic: wire.list_offsets(topic, isolation=COMMITTED).must_name(offset=wire.log_end(topic)),
            within=WITHIN_S,
        )

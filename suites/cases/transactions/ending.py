"""EndTxn: said again, said otherwise, and what may follow at once (KIP-98, KIP-890)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}


@case("transactions/end-again", guarantee="txn-010", apis=TRANSACTIONS, smoke=True, detects=["M18c"])
def the_same_end_again_succeeds_the_opposite_is_refused(wire, topic, transactional_id):
    """EndTxn repeated with the same outcome, as after a lost answer, MUST succeed; with the opposite outcome it MUST
    be refused, and the first one stays in force.
    """
    for outcome, value in ((True, "committed"), (False, "aborted")):
        producer = wire.producer(transactional_id)
        producer.send(topic, value)
        said = {"producer_id": producer.id, "epoch": producer.epoch}
        for _ in range(2):
            wire.end_txn(transactional_id, **said, commit=outcome).must_succeed()
        wire.end_txn(transactional_id, **said, commit=not outcome).must_be_refused(
            errors.INVALID_TXN_STATE, errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED
        )
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("committed")


@case(
    "transactions/next-while-completing",
    guarantee="txn-023",
    apis=TRANSACTIONS,
    detects=[
        edit_answer("responses[].partition_responses[].error_code", set=errors.INVALID_TXN_STATE, api="Produce", skip=2)
    ],
)
def the_next_transaction_may_have_to_wait_but_is_never_lost(wire, topic, transactional_id):
    """A transaction that begins while the one before is still being completed MUST be accepted or refused with a
    retriable code (51, or another code that clients retry), never refused for good, and none MUST be lost.

    The probe tries again on the codes on which clients do; any other is a failure.
    """
    producer = wire.producer(transactional_id)
    values = [f"v{number}" for number in range(5)]
    for value in values:
        producer.send(topic, value).must_succeed()
        producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*values)

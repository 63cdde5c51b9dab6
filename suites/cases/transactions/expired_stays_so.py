"""Transactional ids that were forgotten, and brokers that are started after that (transactional.id.expiration.ms)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.transactions.ids_expire import CHOSEN, WITHIN_S
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

OPEN_MS, SPARE_MS = 55_000, 10_000
UNUSED, AGAIN = ("rests", "committed", "aborted"), "used again"
NAMED = "transaction_states[].transactional_id"


@case(
    "transactions/expired-ids-stay-forgotten",
    guarantees=["txn-031", "txn-026", "txn-029"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "DescribeTransactions": 0, "ListTransactions": 0},
    needs=["chosen-settings", "started", "terminate", "restart"],
    detects=["B333"],
)
def what_is_forgotten_is_not_there_again(wire, topic, nodes):
    """A transactional id that was forgotten MUST NOT be there again once its broker was started anew, however long ids
    are kept from then on: it is not described nor listed, its producer is refused (49), and who begins with it is given
    another producer id. One that was begun anew before MUST be there as it was then, and so MUST one that was in use.

    Ids without a transaction, committed, aborted, used again after they were forgotten, and with a transaction open.
    """
    nodes.start_with(CHOSEN)
    wire.await_topic(topic)
    producers = {what: wire.producer(wire.name(what)) for what in (*UNUSED, AGAIN)}
    for what in ("committed", "aborted", AGAIN):
        producers[what].send(topic, what).must_succeed()
    producers["committed"].commit().must_succeed()
    producers[AGAIN].commit().must_succeed()
    producers["aborted"].abort().must_succeed()
    producers["rests"].start()
    before = {what: (one.id, one.epoch) for what, one in producers.items()}
    gone = [producers[what].transactional_id for what in (*UNUSED, AGAIN)]
    wire.until(lambda: all(_is_gone(wire, each) for each in gone), within=WITHIN_S, what="unused ids are forgotten")
    in_use = [wire.producer(id_, timeout_ms=OPEN_MS) for id_ in (producers[AGAIN].transactional_id, wire.name("open"))]
    for one in in_use:
        one.send(topic, "in use").must_succeed()
    begun_ms = wire.now_ms()
    nodes.start_with({})
    wire.await_topic(topic)
    if wire.now_ms() - begun_ms > OPEN_MS - SPARE_MS:
        wire.unclear("the brokers took so long to start that the open transactions are over", "slow-target")
    for what in UNUSED:
        _must_be_gone(wire, producers[what].transactional_id, before[what])
    for one in in_use:
        wire.describe_transaction(one.transactional_id).must_have("transaction_states[0].producer_id", one.id)
        one.commit().must_succeed()
    for what in UNUSED:
        new = wire.producer(producers[what].transactional_id)
        wire.must(new.id != before[what][0], f"the id that was forgotten has producer id {new.id}, as before")
        new.send(topic, f"{what} again").must_succeed()
        new.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold(
        "committed", AGAIN, "in use", "in use", *(f"{what} again" for what in UNUSED)
    )


def _must_be_gone(wire, transactional_id, before):
    described = wire.describe_transaction(transactional_id)
    described.must_be_refused(errors.TRANSACTIONAL_ID_NOT_FOUND)
    listed = wire.list_transactions(transactional_id)
    names = [row.transactional_id for row in listed.struct.transaction_states]
    listed.must(transactional_id not in names, f"{transactional_id} is listed, which was forgotten", NAMED)
    ended = wire.end_txn(transactional_id, *before, commit=True)
    ended.must_be_refused(errors.INVALID_PRODUCER_ID_MAPPING)


def _is_gone(wire, transactional_id):
    answer = wire.describe_transaction(transactional_id)
    answer.examined = True
    return answer.struct.transaction_states[0].error_code == errors.TRANSACTIONAL_ID_NOT_FOUND

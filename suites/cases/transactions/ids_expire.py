"""Transactional ids that are not used any more (transactional.id.expiration.ms)."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.wire import errors

EXPIRES_MS = 6_000
CHOSEN = {
    "transactional.id.expiration.ms": str(EXPIRES_MS),
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
ROW = "transaction_states[0]"
WITHIN_S, UNUSED = 30, ("rests", "committed", "aborted", "begins anew")
GO_ON, WITH_ID = ("committed", "begins anew"), 3
"""These ask for their next epoch with the producer id and epoch that they had (KIP-360)."""


@case(
    "transactions/ids-expire",
    guarantees=["txn-031", "txn-026", "txn-029"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "DescribeTransactions": 0, "ListTransactions": 0},
    needs=["chosen-settings", "started", "terminate", "restart"],
    detects=["D68", "D76", "D98"],
)
def what_is_unused_is_forgotten(wire, topic, nodes):
    """A transactional id without an open transaction MUST be forgotten some time after it has not been used for
    transactional.id.expiration.ms, and not before: it is not described nor listed, and its producer is refused (49)
    until it begins anew, with another producer id, also where it names the one that it had. One that has a transaction
    open MUST stay, and may commit it.

    Five ids: without a transaction, committed, aborted, open, and one whose producer begins anew meanwhile, which is a
    use of it; the brokers look for unused ones twice a second.
    """
    nodes.start_with(CHOSEN)
    wire.await_topic(topic)
    used_ms = {}
    producers = {what: wire.producer(wire.name(what), timeout_ms=55_000) for what in (*UNUSED, "open")}
    for what in ("open", "committed", "aborted"):
        producers[what].send(topic, what).must_succeed()
    for what, ended in (("committed", producers["committed"].commit), ("aborted", producers["aborted"].abort)):
        used_ms[what] = wire.now_ms()
        ended().must_succeed()
    used_ms["rests"] = wire.now_ms()
    for what in ("rests", "begins anew"):
        producers[what].start()
    wire.rest(EXPIRES_MS / 2_000)
    used_ms["begins anew"] = wire.now_ms()
    producers["begins anew"].start()
    before = {what: (one.id, one.epoch) for what, one in producers.items()}
    waiting = dict.fromkeys(UNUSED)

    def all_are_gone():
        for what in list(waiting):
            if _is_gone(wire, producers[what], used_ms[what]):
                del waiting[what]
        return not waiting

    wire.until(all_are_gone, within=WITHIN_S, what="ids that are not used are forgotten")
    wire.describe_transaction(producers["open"].transactional_id).must_have(f"{ROW}.transaction_state", "Ongoing")
    for what in UNUSED:
        one = producers[what]
        refused = wire.end_txn(one.transactional_id, *before[what], commit=True)
        refused.must_be_refused(errors.INVALID_PRODUCER_ID_MAPPING)
    producers["open"].commit().must_succeed()
    for what in UNUSED:
        again = producers[what]
        if what in GO_ON and max(wire.versions("InitProducerId")) >= WITH_ID:
            again.go_on()
        else:
            again = wire.producer(again.transactional_id)
        wire.must(again.id != before[what][0], f"the id that had expired has producer id {again.id}, as before")
        again.send(topic, f"{what} again").must_succeed()
        again.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold("open", "committed", *(f"{what} again" for what in UNUSED))


def _is_gone(wire, producer, used_ms):
    """Whether it is described as not found, which it must not be before its time."""
    answer = wire.describe_transaction(producer.transactional_id)
    gone = answer.struct.transaction_states[0].error_code == errors.TRANSACTIONAL_ID_NOT_FOUND
    since_ms = wire.now_ms() - used_ms
    answer.must(not gone or since_ms >= EXPIRES_MS, f"it is forgotten {since_ms} ms after it was used")
    return gone

"""Transactional ids that are not used while their coordinator changes again and again."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import APIS, STATE_TOPIC, hand_over
from brokertrial.suites.cases.transactions.ids_expire import CHOSEN, EXPIRES_MS, _is_gone
from brokertrial.suites.probe.preferred_leaders import await_leaders

UNUSED, USED = ("rests", "committed", "aborted"), "used"
GOES_ON_MS, SOON_S = 4 * EXPIRES_MS, EXPIRES_MS / 2_000


@case(
    "transactions/ids-expire-while-handed-over",
    guarantees=["txn-031", "txn-026"],
    apis={**APIS, "EndTxn": 0, "DescribeTransactions": 0},
    needs=["three-nodes", "leaders", "partitions", "chosen-settings", "terminate", "restart"],
    detects=["B339", "B355"],
)
def the_time_goes_on_at_the_next_coordinator(wire, topic, nodes):
    """How long a transactional id has not been used MUST NOT begin anew where another broker comes to coordinate it: an
    id that is not used MUST be forgotten, and not before its time, though coordinators change more often than ids
    expire. One that is used meanwhile MUST stay. What was forgotten MUST begin anew with another producer id, whoever
    coordinated it before.

    Ids without a transaction, committed, aborted, and one whose producer begins anew after each change.
    """
    nodes.start_with(CHOSEN)
    await_leaders(wire)
    wire.await_topic(topic)
    producers = {what: wire.producer(wire.name(what)) for what in (*UNUSED, USED)}
    used_ms = {}
    for what, one in producers.items():
        if what in ("committed", "aborted"):
            one.send(topic, what).must_succeed()
        used_ms[what] = wire.now_ms()
        {"committed": one.commit, "aborted": one.abort}.get(what, one.start)().must_succeed()
    end_ms = wire.now_ms() + GOES_ON_MS
    while wire.now_ms() < end_ms:
        for former in {wire.coordinator(one.transactional_id, 1) for one in producers.values()}:
            to = wire.nodes[(wire.nodes.index(former) + 1) % len(wire.nodes)]
            hand_over(wire, STATE_TOPIC, former, to)
        for one in producers.values():
            wire.forget_coordinator(one.transactional_id, 1)
        producers[USED].start().must_succeed()
        for what in UNUSED:
            _is_gone(wire, producers[what], used_ms[what])
    for what in UNUSED:
        wire.eventually(lambda of=what: _must_be_gone(wire, producers[of], used_ms[of]), within=SOON_S)
    stays = wire.describe_transaction(producers[USED].transactional_id)
    stays.must_have("transaction_states[0].producer_id", producers[USED].id)
    for what in UNUSED:
        again = wire.producer(producers[what].transactional_id)
        former = producers[what].id
        wire.must(again.id != former, f"the id that had expired has the producer id {former}, as before")
        again.send(topic, f"{what} again").must_succeed()
        again.commit().must_succeed()


def _must_be_gone(wire, producer, used_ms):
    gone = _is_gone(wire, producer, used_ms)
    wire.must(gone, f"it is there {wire.now_ms() - used_ms} ms after it was used; ids expire after {EXPIRES_MS} ms")

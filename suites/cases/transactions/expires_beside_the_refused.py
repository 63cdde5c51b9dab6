"""Transactional ids that expire while their coordinator knows of others that it could not write."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.wire import errors

EXPIRES_MS = 6_000
CHOSEN = {
    "transactional.id.expiration.ms": str(EXPIRES_MS),
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
LIMIT, TOO_SMALL = "max.message.bytes", "20"
"""No record of an id is as small."""
WITHIN_S = 30


@case(
    "transactions/expires-beside-what-was-not-written",
    guarantees=["txn-031", "txn-026"],
    apis={"InitProducerId": 0, "AddPartitionsToTxn": 0, "DescribeTransactions": 0, "IncrementalAlterConfigs": 0},
    needs=["chosen-settings", "started", "topic-settings", "terminate", "restart"],
    detects=["B139"],
)
def what_was_refused_keeps_no_other_id(wire, topic, nodes, rng):
    """Where the coordinator of transactions cannot write what it is asked for, InitProducerId and AddPartitionsToTxn
    MUST be refused. Once it can write again each transactional id without an open transaction MUST be forgotten some
    time after it was not used for transactional.id.expiration.ms, and not before: those that were refused, those that
    were not asked about meanwhile, and those that are new. Each of them MUST be of use again.

    For some seconds no record fits into its log (max.message.bytes), not even that an id is forgotten. One new id or
    two are refused, one that begins anew, and one that opens a transaction.
    """
    nodes.start_with(CHOSEN)
    wire.await_topic(topic)
    rests, again, adds = (wire.producer(wire.name(what)) for what in ("rests", "again", "adds"))
    for producer in (rests, again, adds):
        producer.start().must_succeed()
    fresh = [wire.name("fresh") for _ in range(rng.randint(1, 2))]
    _too_small(wire, SET)
    try:
        wire.eventually(lambda: _init(wire, fresh[0]).must_be_refused(), within=WITHIN_S)
        for ask in rng.sample((_init, _adds), 2):
            ask(wire, *{_init: (again.transactional_id,), _adds: (adds, topic)}[ask]).must_be_refused()
        for name in fresh[1:]:
            _init(wire, name).must_be_refused()
        wire.rest(EXPIRES_MS / 1_000 + 2)  # what was used before falls due
    finally:
        _too_small(wire, DELETE)
    used_ms = wire.now_ms()
    later = wire.name("later")
    for name in (later, *fresh[1:]):
        wire.eventually(lambda of=name: _init(wire, of).must_succeed(), within=WITHIN_S)
    ids = [later, *fresh, *(producer.transactional_id for producer in (rests, again, adds))]
    for name in ids:
        least_ms = used_ms if name == later else None
        wire.eventually(lambda of=name, since=least_ms: _must_be_gone(wire, of, since), within=WITHIN_S)
    for number, name in enumerate(ids):
        producer = wire.producer(name)
        producer.send(topic, f"{number}").must_succeed()
        producer.commit().must_succeed()
    wire.await_settled(topic)
    wire.read_all(topic, isolation=COMMITTED).must_hold(*(f"{number}" for number in range(len(ids))))


def _init(wire, transactional_id):
    return wire.init_producer_id(transactional_id, retry=False)


def _adds(wire, producer, topic):
    return wire.add_partitions(producer.transactional_id, producer.id, producer.epoch, [(topic, 0)], retry=False)


def _too_small(wire, how):
    """Until it is set everywhere, some may still be written."""
    value = TOO_SMALL if how == SET else None
    wire.change_configs(TOPIC, STATE_TOPIC, [(LIMIT, how, value)]).must_succeed()


def _must_be_gone(wire, transactional_id, used_ms):
    """Described as not found, and not sooner than it may be."""
    row = wire.describe_transaction(transactional_id).struct.transaction_states[0]
    gone = row.error_code == errors.TRANSACTIONAL_ID_NOT_FOUND
    wire.must(gone, f"an id is still known, in state {row.transaction_state}, long after it was used")
    since_ms = EXPIRES_MS if used_ms is None else wire.now_ms() - used_ms
    wire.must(since_ms >= EXPIRES_MS, f"it is forgotten {since_ms} ms after it was used")

"""Transaction coordinators whose own log has too few replicas in sync: nothing may come of what cannot be written."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE, STATE_TOPIC
from brokertrial.suites.cases.replication._too_few import WITHIN_S, too_few_in_sync
from brokertrial.suites.probe import COMMITTED

TIMES, NAMES, TIMEOUT_MS, SPARE_MS = 4, 60, 55_000, 10_000


@case(
    "transactions/refused-while-replicas-are-missing",
    guarantees=["txn-021", "txn-007", "err-003"],
    apis={"InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0, "IncrementalAlterConfigs": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["D86"],
)
def what_cannot_be_written_has_not_happened(wire, topic_of, transactional_id, nodes):
    """While fewer replicas of the coordinator's log are in sync than its min.insync.replicas, InitProducerId,
    AddPartitionsToTxn and EndTxn MUST be refused as by a coordinator that is not available for the moment (14, 15, 16),
    as often as they are repeated. Once the replicas are back nothing MUST have come of what was refused: the open
    transaction is still open and can be committed, and the epoch of an idle transactional id rises by one.
    """
    topic = topic_of(partitions=2)
    coordinator = wire.coordinator(transactional_id, 1)
    names = (wire.name("x") for _ in range(NAMES))
    first, second = islice((name for name in names if wire.coordinator(name, 1) == coordinator), 2)
    opened, idle = (wire.producer(name, timeout_ms=TIMEOUT_MS) for name in (transactional_id, first))
    begun_ms = wire.now_ms()
    opened.send(topic, "open").must_succeed()
    idle.send(topic, "idle").must_succeed()
    idle.commit().must_succeed()
    wire.until(lambda: _state(wire, first) == "CompleteCommit", within=WITHIN_S, what=f"{first} is idle")
    epoch = idle.epoch
    with too_few_in_sync(wire, nodes, STATE_TOPIC, {coordinator}), wire.part("while a replica is missing"):
        wire.eventually(lambda: _init_must_be_refused(wire, second), within=WITHIN_S)
        try:
            for _ in range(TIMES):
                _must_be_refused(wire, topic, opened, idle)
        finally:
            _must_be_in_time(wire, begun_ms)
    _must_be_in_time(wire, begun_ms)
    state = _state(wire, transactional_id)
    wire.must(state == "Ongoing", f"the transaction is {state}; it must be Ongoing, for its end was refused")
    opened.send(topic, "still open").must_succeed()
    opened.commit().must_succeed()
    again = idle.start().must_succeed()
    again.must(again.epoch == epoch + 1, f"the epoch is {again.epoch}; it was {epoch}, and nothing has raised it since")
    wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold("open", "idle", "still open")


def _must_be_in_time(wire, begun_ms):
    if wire.now_ms() > begun_ms + TIMEOUT_MS - SPARE_MS:
        wire.unclear("the coordinator may have begun to abort the transaction for its time", "slow-target")


def _state(wire, transactional_id):
    return wire.describe_transaction(transactional_id).must_succeed().struct.transaction_states[0].transaction_state


def _must_be_refused(wire, topic, opened, idle):
    _init_must_be_refused(wire, idle.transactional_id)
    who = opened.transactional_id, opened.id, opened.epoch
    wire.add_partitions(*who, [(topic, 1)], retry=False).must_be_refused(*ELSEWHERE)
    wire.end_txn(*who, commit=True, retry=False).must_be_refused(*ELSEWHERE)


def _init_must_be_refused(wire, transactional_id):
    wire.init_producer_id(transactional_id, timeout_ms=TIMEOUT_MS, retry=False).must_be_refused(*ELSEWHERE)

"""Transactions whose timeout passes while their coordinator's own log has too few replicas in sync to be written."""

from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import STATE_TOPIC
from brokertrial.suites.cases.replication._too_few import too_few_in_sync
from brokertrial.suites.probe import COMMITTED

CLEAN_UP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
NAMES, IDS, TIMEOUT_MS, LATER_MS, WITHIN_S = 60, 2, 20_000, 2_000, 40


@case(
    "transactions/timeouts-outlive-missing-replicas",
    guarantees=["txn-008", "txn-021"],
    apis={"InitProducerId": 0, "AddPartitionsToTxn": 0, "DescribeTransactions": 0, "IncrementalAlterConfigs": 0},
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["B70"],
)
def what_is_overdue_is_aborted_once_it_can_be(wire, topic_of, nodes):
    """A transaction whose timeout passes while too few replicas of its coordinator's log are in sync MUST be aborted
    once they are back, and one that begins later with the same coordinator MUST be aborted when its own timeout passes.
    """
    wire.needs_setting(CLEAN_UP, at_most=5_000)
    pause_ms = 2 * int(wire.setting(CLEAN_UP) or 5_000)
    topic = topic_of()
    first = wire.name("x")
    coordinator = wire.coordinator(first, 1)
    names = (wire.name("x") for _ in range(NAMES))
    others = islice((name for name in names if wire.coordinator(name, 1) == coordinator), IDS)
    *overdue, later = [wire.producer(name, timeout_ms=TIMEOUT_MS) for name in (first, *others)]
    begun_ms = wire.now_ms()
    for producer in overdue:
        producer.send(topic, "overdue").must_succeed()
    with too_few_in_sync(wire, nodes, STATE_TOPIC, {coordinator}):
        if wire.now_ms() > begun_ms + TIMEOUT_MS:
            wire.unclear("the timeouts passed before the replicas were missing", "slow-target")
        wire.until(
            lambda: wire.now_ms() > begun_ms + TIMEOUT_MS + pause_ms,
            within=(TIMEOUT_MS + pause_ms) / 1_000 + 10,
            what="the coordinator has looked for transactions that are overdue",
        )
    for producer in overdue:
        wire.eventually(lambda one=producer: _must_be_aborted(wire, one), within=WITHIN_S)
    anew = wire.producer(later.transactional_id, timeout_ms=LATER_MS)
    anew.send(topic, "later").must_succeed()
    wire.eventually(lambda: _must_be_aborted(wire, anew), within=WITHIN_S)
    wire.await_settled(topic, within=WITHIN_S)
    wire.read_all(topic, isolation=COMMITTED).must_hold()


def _must_be_aborted(wire, producer):
    answer = wire.describe_transaction(producer.transactional_id).must_succeed()
    answer.must_have("transaction_states[0].transaction_state", "CompleteAbort")

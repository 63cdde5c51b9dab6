"""Transactional ids while their coordinator cannot write its log, and what becomes of each of them afterwards."""

from contextlib import contextmanager
from itertools import islice

from brokertrial.suites.case import case
from brokertrial.suites.cases.replication._handing_over import ELSEWHERE, STATE_TOPIC
from brokertrial.suites.cases.replication._roles import WITHIN_S, all_in_sync, partition, placed
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

COPIES, TRANSACTION = "min.insync.replicas", 1
NAMES, TIMES, TIMEOUT_MS, SPARE_MS = 80, 3, 55_000, 10_000
SOON_S, HELD_S = 30, 25
BUSY = (*ELSEWHERE, errors.CONCURRENT_TRANSACTIONS)


@case(
    "transactions/goes-on-once-its-log-can-be-written",
    guarantees=["txn-011", "txn-021", "txn-023", "txn-001", "txn-002"],
    apis={
        "InitProducerId": 0,
        "AddPartitionsToTxn": 0,
        "EndTxn": 0,
        "DescribeTransactions": 0,
        "IncrementalAlterConfigs": 0,
        "DescribeConfigs": 1,
    },
    needs=["three-nodes", "leaders", "partitions", "topic-settings", "kill", "restart"],
    detects=["B81", "B83"],
)
def no_id_is_held_up_by_what_was_refused(wire, nodes, rng):
    """While too few replicas of a transaction coordinator's log are in sync, what it would have to write MUST be
    refused with codes that clients try again (14, 15, 16). Once it can be written, each transactional id MUST go on
    within seconds: a transaction that had all its markers, but not its end in the log, is complete; one whose end was
    refused can be committed or aborted; ids whose InitProducerId or AddPartitionsToTxn was refused begin a transaction.

    Nothing leads otherwise meanwhile, so that no other coordinator puts it right: one node that leads nothing of this
    is dead, and min.insync.replicas of the log is raised above what is left. The markers wait for replicas of their
    own partition until then. The log can be written again by either: the node is back, or the setting is.
    """
    first = wire.name("x")
    coordinator = wire.coordinator(first, TRANSACTION)
    dead = rng.choice([node for node in wire.nodes if node != coordinator])
    names = (wire.name("x") for _ in range(NAMES))
    others = (name for name in names if wire.coordinator(name, TRANSACTION) == coordinator)
    ids = rng.sample([first, *islice(others, 6)], 7)
    late, kept = (
        placed(wire, what, on, **{COPIES: f"{len(on)}"})
        for what, on in (("late", [coordinator, dead]), ("kept", [coordinator]))
    )
    all_in_sync(wire, late)
    commits, aborts, opened, given_up, adds, again = (wire.producer(name, timeout_ms=TIMEOUT_MS) for name in ids[1:])
    commits.send(late, "committed").must_succeed()
    aborts.send(late, "aborted").must_succeed()
    nodes.kill(dead)
    wire.until(
        lambda: dead not in partition(wire, late).isr_nodes and _in_sync(wire, coordinator) == 2,
        within=WITHIN_S,
        what=f"node {dead} is in sync nowhere",
    )
    commits.commit().must_succeed()
    aborts.abort().must_succeed()
    begun_ms = wire.now_ms()
    opened.send(kept, "still open").must_succeed()
    given_up.send(kept, "given up").must_succeed()
    with _unwritable(wire, nodes, rng, coordinator, dead), wire.part("while too few are in sync"):
        wire.eventually(lambda: _first(wire, ids[0]).must_be_refused(*ELSEWHERE), within=SOON_S)
        wire.change_configs(TOPIC, late, [(COPIES, SET, "1")]).must_succeed()
        wire.await_settled(late, within=WITHIN_S)
        for _ in range(TIMES):
            for producer in rng.sample([commits, aborts], 2):
                _init(wire, producer.transactional_id).must_be_refused(*BUSY)
            _must_be_refused(wire, rng, kept, ids[0], again, adds, {opened: True, given_up: False})
        _must_be_in_time(wire, begun_ms)
    for producer, state in ((commits, "CompleteCommit"), (aborts, "CompleteAbort")):
        wire.eventually(lambda one=producer, wanted=state: _must_be(wire, one, wanted), within=SOON_S)
    given_up.abort().must_succeed()
    opened.commit().must_succeed()
    _must_be_in_time(wire, begun_ms)
    for producer in (commits, aborts, again):
        producer.start().must_succeed()
    anew = wire.producer(ids[0], timeout_ms=TIMEOUT_MS)
    for number, producer in enumerate((commits, aborts, opened, given_up, adds, again, anew)):
        producer.send(kept, f"next of {number}").must_succeed()
        producer.commit().must_succeed()
    for topic in (late, kept):
        wire.await_settled(topic, within=SOON_S)
    wire.read_all(late, isolation=COMMITTED).must_hold("committed")
    wire.read_all(kept, isolation=COMMITTED).must_hold("still open", *[f"next of {number}" for number in range(7)])


@contextmanager
def _unwritable(wire, nodes, rng, coordinator, dead):
    """The log of all coordinators, two replicas of which are in sync.

    What the coordinator appends before the setting is in force there is not committed after it (KIP-966) and answered
    when a request times out, after 30 s: it is asked once it shows the setting, a moment before it is in force.
    """
    wire.change_configs(TOPIC, STATE_TOPIC, [(COPIES, SET, "3")]).must_succeed()
    wire.until(lambda: _shown(wire, coordinator) == ["3"], within=WITHIN_S, what=f"node {coordinator} shows {COPIES}")
    try:
        yield
    finally:
        if rng.random() < 0.5:
            nodes.start(dead)
            wire.until(lambda: _in_sync(wire, coordinator) == 3, within=WITHIN_S, what="all replicas are in sync")
        wire.change_configs(TOPIC, STATE_TOPIC, [(COPIES, DELETE, None)]).must_succeed()


def _shown(wire, asked):
    row = {"resource_type": TOPIC, "resource_name": STATE_TOPIC, "configuration_keys": [COPIES]}
    answer = wire.ask(request("DescribeConfigs", resources=[row]), to=asked).must_succeed()
    return [each.value for each in answer.struct.results[0].configs]


def _in_sync(wire, asked):
    (row,) = wire.metadata(STATE_TOPIC, to=asked).struct.topics
    return min(len(part.isr_nodes) for part in row.partitions)


def _must_be_refused(wire, rng, topic, fresh, again, adds, ends):
    """Each of it, in a drawn order."""
    asked = [
        lambda: _init(wire, fresh),
        lambda: _init(wire, again.transactional_id),
        lambda: wire.add_partitions(adds.transactional_id, adds.id, adds.epoch, [(topic, 0)], retry=False),
        *(lambda one=one, commit=commit: _end(wire, one, commit) for one, commit in ends.items()),
    ]
    for ask in rng.sample(asked, len(asked)):
        ask().must_be_refused(*ELSEWHERE)


def _first(wire, transactional_id):
    """Of the id that has nothing yet; see _unwritable."""
    asked = request(
        "InitProducerId",
        transactional_id=transactional_id,
        transaction_timeout_ms=TIMEOUT_MS,
        producer_id=-1,
        producer_epoch=-1,
    )
    return wire.ask(asked, to=wire.coordinator(transactional_id, TRANSACTION), may_take_s=HELD_S)


def _init(wire, transactional_id):
    return wire.init_producer_id(transactional_id, timeout_ms=TIMEOUT_MS, retry=False)


def _end(wire, producer, commit):
    return wire.end_txn(producer.transactional_id, producer.id, producer.epoch, commit=commit, retry=False)


def _must_be(wire, producer, state):
    answer = wire.describe_transaction(producer.transactional_id).must_succeed()
    answer.must_have("transaction_states[0].transaction_state", state)


def _must_be_in_time(wire, begun_ms):
    if wire.now_ms() > begun_ms + TIMEOUT_MS - SPARE_MS:
        wire.unclear("the coordinator may have begun to abort what is open for its time", "slow-target")

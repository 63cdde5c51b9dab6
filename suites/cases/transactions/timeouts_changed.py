"""The timeout that a transactional id was last given, and how long its transaction may stay open by it."""

from brokertrial.suites.case import case
from brokertrial.wire import errors

APIS = {"AddPartitionsToTxn": 0, "DescribeTransactions": 0}
CLEAN_UP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
LONG_MS, PARTITIONS = 50_000, 16
GONE = (errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH, errors.CONCURRENT_TRANSACTIONS)
AGAIN_MS, LATE_MS = 600, 3_000


@case(
    "transactions/newest-timeout-is-in-force",
    guarantees=["txn-008", "txn-009", "txn-026"],
    apis=APIS,
    needs=["partitions"],
    detects=["C05", "C08"],
)
def a_transaction_expires_by_the_newest_timeout(wire, topic_of, rng):
    """A transaction MUST be aborted once it has been open for the timeout that its transactional id was last given, not
    before and soon after, however long the one before was and whatever joins it meanwhile; and DescribeTransactions
    MUST return that timeout.

    Four ids at once, each asked in a drawn version: shortened, prolonged, given another timeout while it goes on from
    its epoch (KIP-360), never changed. Partitions join them all the time.
    """
    wire.needs_setting(CLEAN_UP, at_most=5_000)
    every = _opened(wire, topic_of(partitions=PARTITIONS), rng)
    wire.until(
        lambda: not [one for one in every if _still_open(wire, one) and one.timeout_ms != LONG_MS],
        within=30,
        what="all transactions but the long one have expired",
    )


@case(
    "transactions/newest-timeout-over-a-restart",
    guarantees=["txn-008", "txn-009", "txn-011"],
    apis=APIS,
    needs=["partitions", "restart", "terminate", "kill"],
    detects=["C05", "C09"],
)
def the_newest_timeout_survives_a_restart(wire, topic_of, rng, nodes):
    """A transaction that was open when its coordinator was stopped or killed MUST be aborted by the newest timeout of
    its transactional id: one that has not expired yet is as old as before, and one that has expired meanwhile is
    aborted.
    """
    wire.needs_setting(CLEAN_UP, at_most=5_000)
    topic = topic_of(partitions=PARTITIONS)
    every = _opened(wire, topic, rng)
    before = [_described(wire, one).transaction_start_time_ms for one in every]
    act = rng.choice((nodes.stop_and_start, nodes.crash))
    act(wire.coordinator(every[0].name, 1))
    wire.await_topic(topic)
    restarted_ms = wire.now_ms()
    for one, start in zip(every, before, strict=True):
        one.began_by_ms = max(one.began_by_ms, restarted_ms - one.timeout_ms)
        if _still_open(wire, one):
            row = _described(wire, one)
            now = row.transaction_start_time_ms
            wire.must(now == start, f"the transaction of {one.name} began at {start}, and at {now} after the restart")
    wire.until(
        lambda: not [one for one in every if _still_open(wire, one) and one.timeout_ms != LONG_MS],
        within=30,
        what="all transactions but the long one have expired",
    )
    long = next(one for one in every if one.timeout_ms == LONG_MS)
    wire.end_txn(long.name, long.id, long.epoch, commit=True, version=long.end_version).must_succeed()


class OpenTransaction:
    """A transactional id, the timeout in force, and when its transaction began, at the earliest and at the latest."""

    def __init__(self, wire, name, topic, timeouts_ms, goes_on, rng):
        self.name, self.topic, self.timeout_ms = name, topic, timeouts_ms[-1]
        self.partitions, self.expired, self.added_ms = list(range(PARTITIONS)), False, 0
        self.end_version = min(4, max(wire.versions("EndTxn")))
        self.id = self.epoch = -1
        self.began_from_ms = self.began_by_ms = 0
        who = {}
        for number, timeout_ms in enumerate(timeouts_ms):
            if number and goes_on:
                who = {"producer_id": self.id, "epoch": self.epoch}
            offered = [each for each in wire.versions("InitProducerId") if 3 * bool(who) <= each <= 5]
            answer = wire.init_producer_id(name, timeout_ms=timeout_ms, version=rng.choice(offered), **who)
            self.id, self.epoch = answer.producer_id, answer.epoch


def _opened(wire, topic, rng):
    forms = (([LONG_MS, 1_500], False), ([1_500, LONG_MS], False), ([LONG_MS, 3_500], True), ([2_500], False))
    every = [
        OpenTransaction(wire, wire.name(f"x{n}"), topic, timeouts, on, rng) for n, (timeouts, on) in enumerate(forms)
    ]
    for one in every:
        one.began_from_ms = wire.now_ms()
        _joined(wire, one).must_succeed()
        one.began_by_ms = wire.now_ms()
    last_ms = every[-1].began_by_ms
    wire.until(lambda: wire.now_ms() > last_ms + 20, within=5, what="the transactions are some milliseconds old")
    for one in every:
        wire.must(_joined(wire, one).error in (0, *GONE), f"a second partition does not join {one.name}")
    return every


def _joined(wire, one):
    """One more partition of its own joins the transaction."""
    one.added_ms = wire.now_ms()
    partition = one.partitions.pop() if len(one.partitions) > 1 else one.partitions[0]
    return wire.add_partitions(one.name, one.id, one.epoch, [(one.topic, partition)], version=2)


def _still_open(wire, one):
    """Whether it is; that it is not any more before its time, and that it is long after, are failures."""
    if one.expired:
        return False
    asked_ms = wire.now_ms()
    if asked_ms > one.added_ms + AGAIN_MS:
        code = _joined(wire, one).error
        wire.must(code in (0, *GONE), f"a partition that joins {one.name} is answered {code}")
    row = _described(wire, one)
    wire.must(
        row.transaction_timeout_ms == one.timeout_ms, f"the timeout of {one.name} is {row.transaction_timeout_ms}"
    )
    is_open = row.transaction_state == "Ongoing"
    if is_open:
        late_ms = asked_ms - one.began_by_ms - one.timeout_ms - int(wire.setting(CLEAN_UP) or 0)
        if late_ms > LATE_MS + wire.slack_s * 1000:
            wire.too_late(f"{one.name} is open {late_ms} ms after its timeout of {one.timeout_ms} ms and the clean-up")
        return True
    open_ms = wire.now_ms() - one.began_from_ms
    wire.must(
        open_ms >= one.timeout_ms, f"{one.name} is {row.transaction_state} after {open_ms} of {one.timeout_ms} ms"
    )
    one.expired = True
    return False


def _described(wire, one):
    return wire.describe_transaction(one.name).must_succeed().struct.transaction_states[0]

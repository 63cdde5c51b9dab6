"""Transactions over hundreds of partitions, and hundreds of transactions that are past their timeouts at one moment."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED
from brokertrial.suites.probe.at_once import at_once
from brokertrial.wire import errors

TRANSACTIONS = {"AddPartitionsToTxn": 0, "EndTxn": 0}
CLEAN_UP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
LATE = (errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED, errors.INVALID_TXN_STATE)
PARTITIONS, TURNS, WITHIN_S = 150, 3, 30
PRODUCERS, PLACES, SHORT_MS, LONGEST_MS = 100, 5, 5_000, 600_000


@case(
    "transactions/over-hundreds-of-partitions",
    guarantees=["txn-001", "txn-002", "txn-004"],
    apis=TRANSACTIONS,
    needs=["partitions"],
    detects=["B291"],
)
def the_end_reaches_each_of_hundreds(wire, topic_of, transactional_id, rng):
    """The end of a transaction MUST reach each of its partitions, however many they are: readers of committed records
    are given those of each partition that were committed, and no others, and get past the transaction in all of them.

    150 partitions, all of them in the first transaction, and a drawn half in each of the next two; each ends by draw.
    """
    many = Many(wire, topic_of, wire.producer(transactional_id, timeout_ms=LONGEST_MS))
    for turn in range(TURNS):
        many.written(rng.sample(range(PARTITIONS), PARTITIONS // (2 if turn else 1)), f"{turn}")
        many.ended(commit=rng.random() < 0.5)
        many.must_be_decided()


@case(
    "transactions/over-hundreds-as-their-coordinator-dies",
    guarantees=["txn-011", "txn-001", "txn-002"],
    apis=TRANSACTIONS,
    needs=["partitions", "kill", "restart"],
    detects=["B291"],
)
def a_crash_leaves_none_of_them_undecided(wire, topic_of, nodes, transactional_id, rng):
    """An acknowledged end of a transaction MUST be decided in each of its partitions, however many they are, also where
    the coordinator was killed at once, with markers that were written in some of them; and so MUST the next one.

    150 partitions; each of two transactions ends by draw.
    """
    many = Many(wire, topic_of, wire.producer(transactional_id, timeout_ms=LONGEST_MS))
    for turn in range(2):
        many.written(range(PARTITIONS), f"{turn}")
        many.ended(commit=rng.random() < 0.5)
        if turn == 0:
            nodes.crash(wire.coordinator(transactional_id, 1))
            wire.await_topic(many.topic)
        many.must_be_decided()


class Many:
    """A topic of hundreds of partitions, and the transactions of one producer in it."""

    def __init__(self, wire, topic_of, producer):
        self.wire, self.topic, self.producer = wire, topic_of(partitions=PARTITIONS, replicas=1), producer
        self.due: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
        self.held: list[tuple[int, str]] = []

    def written(self, partitions, value):
        self.held = [(partition, f"{value} in {partition}") for partition in partitions]
        asks = [self.producer.prepared(self.topic, text, partition=at) for at, text in self.held]
        for answer in at_once(self.wire, asks):
            answer.must_succeed()

    def ended(self, *, commit):
        (self.producer.commit() if commit else self.producer.abort()).must_succeed()
        for partition, text in self.held if commit else ():
            self.due[partition].append(text)

    def must_be_decided(self):
        for partition, values in self.due.items():
            self.wire.await_settled(self.topic, partition, within=WITHIN_S)
            self.wire.read_all(self.topic, partition, isolation=COMMITTED).must_hold(*values)


@case(
    "transactions/hundreds-time-out-together",
    guarantees=["txn-008", "txn-012", "txn-007"],
    apis={**TRANSACTIONS, "AddOffsetsToTxn": 0, "TxnOffsetCommit": 0, "OffsetFetch": 7},
    needs=["partitions"],
    detects=["B292"],
)
def each_of_them_is_aborted(wire, topic_of, group, rng):
    """Transactions past their timeouts MUST all be aborted, however many they are at a time, with their records and
    offsets, and none that has time left; whoever was aborted is refused then, and may begin anew.

    100 producers with a timeout of 5 s and five with one of ten minutes, each with a record in one of five partitions
    and one offset of its own.
    """
    wire.needs_setting(CLEAN_UP, at_most=10_000)
    topic = topic_of(partitions=PLACES)
    offsets = topic_of(what="offsets", partitions=PRODUCERS + PLACES, replicas=1)
    stay = [wire.producer(wire.name(f"stays{n}"), timeout_ms=LONGEST_MS) for n in range(PLACES)]
    expire = [wire.producer(wire.name(f"expires{n}"), timeout_ms=SHORT_MS) for n in range(PRODUCERS)]
    everybody = rng.sample([*expire, *stay], PRODUCERS + PLACES)
    places = {each: rng.randrange(PLACES) for each in expire} | {each: n for n, each in enumerate(stay)}
    for number, each in enumerate(everybody):
        each.send(topic, each.transactional_id, partition=places[each])
        each.send_offsets(group, {(offsets, number): 9})

    theirs = [(offsets, number) for number, each in enumerate(everybody) if each not in stay]
    wire.until(
        lambda: not any(wire.committed_all(group, [place], require_stable=True).error for place in theirs),
        within=WITHIN_S,
        what=f"the offsets of {PRODUCERS} transactions past their timeouts are stable",
    )
    for each in rng.sample(expire, 10):
        each.commit().must_be_refused(*LATE)
    for each in stay:
        each.send(topic, "still", partition=places[each]).must_succeed()
        each.commit().must_succeed()
    for partition, each in enumerate(stay):
        wire.await_settled(topic, partition, within=WITHIN_S)
        wire.read_all(topic, partition, isolation=COMMITTED).must_hold(each.transactional_id, "still")
    told = wire.committed_all(group, [(offsets, number) for number in range(len(everybody))], require_stable=True)
    found = sorted(number for (_, number), offset in told.must_succeed().offsets.items() if offset >= 0)
    due = sorted(number for number, each in enumerate(everybody) if each in stay)
    told.must(found == due, f"the offsets of {found} are in force; they must be those of {due}")
    for each in rng.sample(expire, 10):
        again = wire.producer(each.transactional_id)
        again.send(topic, "anew").must_succeed()
        again.commit().must_succeed()

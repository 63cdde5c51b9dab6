"""Transactions that are open in segments which are closed: what a committed reader is given of them."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import COMMITTED

APART_MS, OPEN_MS, STEPS, PRODUCERS, WITHIN_S = 65_000, 600_000, 60, 3, 10
FIRST = ("plain", "nothing", "send", "plain", "roll", "plain")
DRAWN = (*["send"] * 4, *["plain"] * 2, *["roll"] * 2, "nothing", "end")
NOWHERE = 2**63 - 1
SEGMENT = {"segment.ms": "60000"}
"""A segment ends where the time of a record is a minute later; what is ahead of the clock by an hour is refused."""


@case(
    "transactions/open-over-segments",
    guarantees=["txn-002", "txn-003", "txn-004"],
    apis={"AddPartitionsToTxn": 0, "EndTxn": 0, "Fetch": 4},
    needs=["topic-settings"],
    detects=["D95", "D96"],
)
def nothing_is_read_from_the_stable_offset_on(wire, topic_of, rng):
    """A read_committed fetch MUST return no record from the last stable offset on, from whatever offset and in whatever
    version, also where that offset lies in the middle of a closed segment; a committed reader MUST be given all records
    below it that were not aborted. Of aborted transactions it MUST name those of which it returns records, each where
    it began, and MUST NOT name what was none, such as one that had no record in the partition.

    Three producers, whose transactions stay open for some of 60 drawn steps, and a plain one; segments of several
    batches.
    """
    log = Segments(wire, topic_of(configs=SEGMENT), rng)
    for turn, step in enumerate([*FIRST, *rng.choices(DRAWN, k=STEPS)]):
        log.act(step, turn)
        log.must_be_bounded(rng.choice([one for one in wire.versions("Fetch") if one >= 4]))
    for producer in list(log.open):
        log.end(producer, commit=True)
    committed = [value for _, value, transaction in log.records if transaction.committed]
    wire.read_all(log.topic, isolation=COMMITTED).must_hold(*committed)


class FollowedTransaction:
    """Of a producer, or what it sent without one; `first` is its first offset in the partition."""

    def __init__(self, producer, committed=None):
        self.producer_id, self.first, self.committed = producer.id, NOWHERE, committed


class Segments:
    """A log as it must be: its records, and the transactions that are open."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.plain = wire.producer()
        self.producers = [wire.producer(wire.name(f"x{number}"), timeout_ms=OPEN_MS) for number in range(PRODUCERS)]
        self.open, self.records, self.next = {}, [], 0
        """Producer -> its open transaction; (offset, value, transaction) of each record; the end."""
        self.time_ms = wire.now_ms()  # not before: a marker has the time of the clock, and may begin a segment

    def act(self, step, turn):
        producer = self.rng.choice(self.producers)
        if step == "roll":
            self.time_ms += APART_MS
        elif step == "end" and self.open:
            self.end(self.rng.choice(list(self.open)), commit=self.rng.random() < 0.3)
        elif step == "plain":
            self._send(self.plain, turn, FollowedTransaction(self.plain, committed=True))
        elif step == "nothing" and producer not in self.open:
            producer.add(self.topic).must_succeed()
            self.open[producer] = FollowedTransaction(producer)
            self.end(producer, commit=False)
        else:
            self._send(producer, turn, self.open.setdefault(producer, FollowedTransaction(producer)))

    def end(self, producer, *, commit):
        """One marker, also where the transaction has no record."""
        ended = self.open.pop(producer)
        ended.committed = commit
        (producer.commit() if commit else producer.abort()).must_succeed()
        self.next += 1
        self.wire.eventually(lambda: self.wire.list_offsets(self.topic).must_name(offset=self.next), within=WITHIN_S)

    def _send(self, producer, turn, transaction):
        values = [f"{turn}.{number}" for number in range(self.rng.randint(1, 3))]
        producer.send(self.topic, *values, timestamp=self.time_ms).must_be_at(self.next)
        transaction.first = min(transaction.first, self.next)
        for value in values:
            self.records.append((self.next, value, transaction))
            self.next += 1

    def must_be_bounded(self, version):
        """What is fetched from the last stable offset, from a little before it, and from anywhere below."""
        wire, stable = self.wire, min([self.next, *(one.first for one in self.open.values())])
        wire.eventually(
            lambda: wire.list_offsets(self.topic, isolation=COMMITTED).must_name(offset=stable), within=WITHIN_S
        )
        for offset in {stable, max(stable - 1, 0), max(stable - 4, 0), self.rng.randint(0, stable)}:
            seen = wire.fetch(self.topic, offset=offset, isolation=COMMITTED, version=version).must_succeed()
            beyond = [each for each in seen.offsets if each >= stable]
            seen.must(not beyond, f"from offset {offset} it returns {beyond}; the last stable offset is {stable}")
            self._must_name_the_aborted(seen)

    def _must_name_the_aborted(self, seen):
        aborted = [(at, one) for at, _, one in self.records if one.committed is False]
        every = {(one.producer_id, one.first) for _, one in aborted}
        due = {(one.producer_id, one.first) for at, one in aborted if at in seen.offsets}
        named = set(seen.aborted)
        seen.must(
            due <= named <= every,
            f"as aborted it names {sorted(named)}; it returns records of {sorted(due)}, aborted were {sorted(every)}",
            f"{seen.row}.aborted_transactions",
        )

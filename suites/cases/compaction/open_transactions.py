"""Compaction beside transactions that are open: what is undecided takes nothing away, and nothing of it is taken."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import cleanable, cleaned, facts
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.wire.records import Record

MINUTE_MS = 60_000
KEYS = (b"a", b"b", b"c", b"d")
STEPS = ("plain", "plain", "one", "two", "two", "end")


@case(
    "compaction/open-transactions-amid-it",
    guarantees=["comp-001", "txn-022", "comp-011"],
    needs=["topic-settings", "compaction"],
    apis={"EndTxn": 0},
    detects=["L16"],
)
def what_is_undecided_takes_nothing_away(wire, topic_of, rng):
    """While a transaction is open the latest committed record of each key before it MUST stay, whatever is written to
    the key in the transaction and after it, and nothing from the last stable offset on may be cleaned. Once all are
    decided, a committed reader MUST find the latest committed record of each key.

    Drawn batches of four keys by two transactional producers and one without, in segments of their own.
    """
    log = KeysOfMany(wire, cleanable(wire, topic_of), rng)
    for turn in range(2):
        log.write_plain([f"k{turn}".encode()])
        log.write_plain([f"k{turn}".encode(), *KEYS])
        log.write_in(rng.choice("xy"))
        for _ in range(7):
            log.step(rng.choice(STEPS))
        log.write_plain([b"end"])
        cleaned(wire, log.topic, f"k{turn}".encode())
        log.must_be_kept()
        log.decide_all()
        log.must_be_kept()
    log.write_plain([b"last"])
    log.write_plain([b"last", b"end"])
    log.write_plain([b"end"])
    cleaned(wire, log.topic, b"last")
    log.must_be_kept()


class KeysOfMany:
    """What was written where, and by whom; what is committed of it, and what still is open."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.time = wire.now_ms()
        self.producers = {name: wire.producer(wire.name(f"id-{name}")) for name in "xy"}
        self.open: dict[str, dict[int, Record]] = {}
        """Producer -> the records of its transaction."""
        self.committed: dict[int, Record] = {}
        self.written = 0

    def step(self, step):
        if step == "plain":
            self.write_plain(self.rng.sample(KEYS, self.rng.randint(1, 3)))
        elif step == "end" and self.open:
            self.end(self.rng.choice(sorted(self.open)), commit=self.rng.random() < 0.5)
        else:
            self.write_in("x" if step == "one" else "y")

    def _records(self, keys):
        self.time += 2 * MINUTE_MS
        self.written += 1
        return [Record(key, b"%d" % self.written, (), self.time) for key in keys]

    def write_plain(self, keys):
        records = self._records(keys)
        base = self.wire.produce(self.topic, batch(records=records)).offset
        self.committed |= dict(enumerate(records, base))

    def write_in(self, name):
        records = self._records(self.rng.sample(KEYS, self.rng.randint(1, 3)))
        base = self.producers[name].send(self.topic, records=records).offset
        self.open.setdefault(name, {}).update(enumerate(records, base))

    def end(self, name, *, commit):
        producer, records = self.producers[name], self.open.pop(name)
        if commit:
            producer.commit()
            self.committed |= records
        else:
            producer.abort()

    def decide_all(self):
        for name in sorted(self.open):
            self.end(name, commit=self.rng.random() < 0.3)
        self.wire.await_settled(self.topic)

    @property
    def stable(self):
        """The first offset that is undecided; None where all is decided."""
        return min((offset for records in self.open.values() for offset in records), default=None)

    def must_be_kept(self):
        self._must_be_latest()
        if self.stable is None:
            return
        later = {n: record for records in (self.committed, *self.open.values()) for n, record in records.items()}
        later = {n: record for n, record in later.items() if n >= self.stable}
        read = self.wire.read_all(self.topic, offset=self.stable)
        found = {record.offset: facts(record) for record in read.records}
        for offset, record in later.items():
            read.must(
                found.get(offset) == facts(record),
                f"offset {offset} holds {found.get(offset)}; it was {facts(record)}, and {self.stable} is still open",
            )

    def _must_be_latest(self):
        stable = self.stable
        decided = {n: record for n, record in sorted(self.committed.items()) if stable is None or n < stable}
        latest = {record.key: (n, record.value) for n, record in decided.items()}
        read = self.wire.read_all(self.topic, isolation=COMMITTED)
        found = {record.key: (record.offset, record.value) for record in read.records}
        read.must(
            found == latest,
            f"a committed reader finds {found} as the latest of each key; it must find {latest}",
        )

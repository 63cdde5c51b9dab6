"""A leader that is killed when its cleaner has rewritten the first of several segments."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction._ticking import tick_until_cleaned
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, WITHIN_S, cleanable
from brokertrial.suites.probe import batch
from brokertrial.wire.records import Record

SEGMENTS, KEYS, LARGE = 12, 20, 700_000
LARGE_SEGMENTS = {"segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0"}
"""So that a small record behind large ones brings the cleaner about."""
ROUNDS, LOOKS_EACH_S, MINUTE_MS = 2, 2, 60_000


@case(
    "compaction/killed-amid-its-rounds",
    guarantees=["comp-010", "comp-001", "comp-003"],
    needs=["topic-settings", "compaction", "kill", "restart", "leaders"],
    detects=["B300"],
)
def what_a_round_left_undone_is_done(wire, topic_of, nodes, rng):
    """Where a leader is killed while its log is cleaned, a key that was deleted MUST NOT come back with an older value
    once its tombstone is gone, and the latest value of each other key MUST stay, before and after the log is cleaned
    again.

    Twelve segments, too large for two to become one, each with 20 keys, of which a later segment deletes half and
    changes half. The kill comes as soon as the first of them was rewritten; two logs, one after the other.
    """
    for _ in range(ROUNDS):
        log = Log(wire, cleanable(wire, topic_of, **LARGE_SEGMENTS), rng)
        log.write()
        log.await_the_first_segment()
        nodes.crash(nodes.of(log.topic))
        wire.await_topic(log.topic)
        log.must_hold_the_latest()
        tick_until_cleaned(wire, log, LOOKS_EACH_S)


class Log:
    """A log, and what it must still have of each key: its latest value, or none."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.time = wire.now_ms() - 20 * HOUR_MS
        self.end, self.replaced = 0, 0
        self.latest: dict[bytes, tuple[int, bytes | None]] = {}

    def write(self):
        keys = [b"key %d" % number for number in range(SEGMENTS * KEYS)]
        for number in range(SEGMENTS):
            few = keys[number * KEYS : (number + 1) * KEYS]
            self._append([(key, b"old") for key in few], [(b"large %d" % number, self.rng.randbytes(LARGE))])
        self.replaced = self.end
        self._append([(key, self.rng.choice((None, b"new"))) for key in self.rng.sample(keys, len(keys))])
        self.tick()

    def tick(self):
        """One more segment, for which the one before may be cleaned."""
        self._append([(b"tick", b"%d" % self.end)])

    def _append(self, *batches):
        """A segment of these batches."""
        self.time += 2 * MINUTE_MS
        for rows in batches:
            made = batch(records=[Record(key, value, (), self.time) for key, value in rows])
            self.wire.produce(self.topic, made).must_be_at(self.end)
            self.latest |= {key: (self.end + at, value) for at, (key, value) in enumerate(rows)}
            self.end += len(rows)

    def await_the_first_segment(self):
        """Without a pause between two looks: a round is over in a moment."""
        began = self.wire.now_ms()
        while any(record.value == b"old" for record in self.wire.fetch(self.topic, partition_max_bytes=1).records):
            if self.wire.now_ms() > began + 1_000 * (WITHIN_S + self.wire.slack_s):
                self.wire.not_applicable(f"nothing was cleaned within {WITHIN_S} s", "too-slow-here")
            self.wire.rest(0.001)

    def is_cleaned(self):
        """Whether no old value is left in the segments whose keys were all replaced."""
        read = self.wire.read_all(self.topic)
        return not [record for record in read.records if record.offset < self.replaced and record.value == b"old"]

    def must_hold_the_latest(self):
        read = self.wire.read_all(self.topic)
        newest = {record.key: record for record in read.records}
        lost = [key.decode() for key, (_, value) in self.latest.items() if value and key not in newest]
        read.must(not lost, f"{len(lost)} keys are gone that were not deleted, such as {', '.join(lost[:2])}")
        wrong = [key.decode() for key, record in newest.items() if record.offset != self.latest[key][0]]
        read.must(
            not wrong,
            f"{len(wrong)} keys have an older value than their latest, or one though deleted, "
            f"such as {', '.join(wrong[:2])}",
        )

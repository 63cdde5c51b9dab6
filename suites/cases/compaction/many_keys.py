"""Compaction of more keys than a cleaner has in memory at a time."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction._ticking import tick_until_cleaned
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, cleanable
from brokertrial.suites.probe import batch
from brokertrial.wire.records import Record

BATCHES, KEYS = 18, 5_000
"""More than the 78,600 keys of a buffer of 2 MiB (log.cleaner.dedupe.buffer.size), 24 bytes each."""
MINUTE_MS = 60_000
LOOKS_EACH_S = 5


@case(
    "compaction/more-keys-than-fit-into-memory",
    guarantees=["comp-001", "comp-003", "comp-009"],
    needs=["topic-settings", "compaction"],
    detects=["B280"],
)
def keys_that_are_deleted_stay_so(wire, topic_of, rng):
    """However many keys a log has, a key that was deleted MUST NOT come back with an older value once its tombstone is
    gone, and the latest value of each other key MUST stay. What does not fit into the memory of one round of cleaning
    is for the next.

    Behind the values of 34 keys come 90,000 others in 18 segments, and in each of these a tombstone of one of the first
    and a new value of another. Tombstones need not stay; new records bring the cleaner about again and again.
    """
    log = ManyKeys(wire, cleanable(wire, topic_of, **{"segment.bytes": str(64 << 20)}), rng)
    log.write()
    tick_until_cleaned(wire, log, LOOKS_EACH_S)


class ManyKeys:
    """A log, and what it must still have of each key: its latest value, or none."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng = wire, topic, rng
        self.time = wire.now_ms() - 20 * HOUR_MS
        self.end, self.latest, self.first = 0, {}, []

    def write(self):
        self.first = [b"first %d" % number for number in range(2 * (BATCHES - 1))]
        self._append([(key, b"old") for key in self.first])
        for number in range(BATCHES):
            rows: list[tuple[bytes, bytes | None]] = [(b"%d.%d" % (number, n), b"v") for n in range(KEYS)]
            if number:
                gone, changed = self.first[2 * number - 2 : 2 * number]
                rows.insert(self.rng.randrange(KEYS), (gone, None))
                rows.insert(self.rng.randrange(KEYS), (changed, b"new"))
            self._append(rows)

    def tick(self):
        self._append([(b"tick", b"%d" % self.end)])

    def _append(self, rows):
        """A segment of its own."""
        self.time += 2 * MINUTE_MS
        made = batch(records=[Record(key, value, (), self.time) for key, value in rows], compression="lz4")
        self.wire.produce(self.topic, made).must_be_at(self.end)
        self.latest |= {key: (self.end + at, value) for at, (key, value) in enumerate(rows)}
        self.end += len(rows)

    def is_cleaned(self):
        """Whether no old value is left of the keys that came first."""
        return not [offset for offset in self.wire.fetch(self.topic, offset=0).offsets if offset < len(self.first)]

    def must_hold_the_latest(self):
        read = self.wire.read_all(self.topic)
        there = {record.offset for record in read.records}
        lost = [
            key.decode() for key, (offset, value) in self.latest.items() if value is not None and offset not in there
        ]
        read.must(not lost, f"the latest values of {len(lost)} keys are gone, such as {', '.join(lost[:3])}")
        back = [
            key.decode()
            for at, key in enumerate(self.first)
            if at in there and self.latest[key][1] is None and self.latest[key][0] not in there
        ]
        read.must(not back, f"{', '.join(back)} were deleted, and have their old values again: the tombstones are gone")

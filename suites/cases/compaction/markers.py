"""Markers of transactions of which compaction has left nothing: readers need them for a while yet (KIP-534)."""

from functools import partial

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import WITHIN_S, cleanable
from brokertrial.suites.probe import COMMITTED, batch

DAY_MS, SHORT_MS = 86_400_000, 8_000
SEGMENT_MS = 1_000
ROUNDS = 3
"""Cleaning dates a marker in one round, and removes it in a later one at the earliest."""


@case(
    "compaction/markers-stay-and-go",
    guarantees=["comp-003", "comp-001", "txn-022"],
    needs=["topic-settings", "compaction"],
    apis={"EndTxn": 0},
    detects=["Z13", "L10"],
)
def a_marker_outlives_its_transaction(wire, topic_of, transactional_id):
    """The marker of a transaction whose records were all cleaned away MUST stay for delete.retention.ms, and MUST then
    be removed: a reader that has read records of an aborted transaction before would otherwise take the producer's next
    ones for aborted too.

    One transaction that is committed and then overwritten, one that is aborted and one that is left, on a topic that
    keeps what is deleted for eight seconds and on one that keeps it for a day. New records bring the cleaner about.
    """
    kept_ms = {"short": SHORT_MS, "long": DAY_MS}
    logs = [Markers(wire, _topic(wire, topic_of, what, ms), ms) for what, ms in kept_ms.items()]
    producer = wire.producer(transactional_id)
    for key, ended in ((b"k0", "commit"), (b"k1", "abort"), (b"k2", "commit")):
        for log in logs:
            producer.send(log.topic, b"of a transaction", key=key).must_succeed()
        getattr(producer, ended)().must_succeed()
    for log in logs:
        log.begin()
    while wire.now_ms() <= logs[0].began + 1_000 * (WITHIN_S + wire.slack_s):
        looks = [log.goes_on() for log in logs]
        if not any(looks):
            break
        wire.fetch(logs[0].topic, offset=wire.log_end(logs[0].topic), max_wait_ms=500, min_bytes=1)
    for log in logs:
        log.must_have_ended()


def _topic(wire, topic_of, what, kept_ms):
    settings = {"delete.retention.ms": str(kept_ms), "segment.ms": str(SEGMENT_MS)}
    return cleanable(wire, partial(topic_of, what=what), **settings)


class Markers:
    """One topic: which markers have lost their records, and how often it was cleaned since."""

    def __init__(self, wire, topic, stay_ms):
        self.wire, self.topic, self.stay_ms = wire, topic, stay_ms
        self.rounds = self.round_ends = 0

    def begin(self):
        """The markers of the first two transactions, and the record that overtakes the first one."""
        self.wire.await_settled(self.topic)
        before = self.wire.read_all(self.topic)
        found = _markers(before)
        before.must(len(found) == 3, f"there are markers at {found}; three transactions have ended")
        self.spent, self.kept = found[:2], found[2]
        self.began = self.dated = self.wire.now_ms()
        self._write(b"k0")

    def goes_on(self):
        """Whether there is more to come; no marker that has to stay is gone."""
        self._write(b"tick")
        read = self.wire.read_all(self.topic)
        early = self.stay_ms == DAY_MS or self.wire.now_ms() < self.began + self.stay_ms
        found = _markers(read)
        missing = [at for at in [*(self.spent if early else ()), self.kept] if at not in found]
        said = (
            f"the markers at {missing} are gone; they stay {self.stay_ms} ms, and the one at {self.kept} as its record"
        )
        read.must(not missing, said)
        self.left = [at for at in self.spent if at in found]
        self._count_rounds(read)
        return self.rounds < ROUNDS if self.stay_ms == DAY_MS else self.left

    def must_have_ended(self):
        """Cleaned often enough, and what may be read is as it was; nothing that was due to go is left."""
        if self.rounds < ROUNDS:
            never = f"not cleaned {ROUNDS} times in {WITHIN_S} s; compaction/cleaned-at-all decides whether that counts"
            self.wire.not_applicable(never, "too-slow-here")
        read = self.wire.read_all(self.topic, isolation=COMMITTED)
        keys = sorted({bytes(record.key) for record in read.records})
        read.must(keys == [b"k0", b"k2", b"tick"], f"a committed reader sees the keys {keys}")
        said = f"the markers at {self.left} are still there after {self.rounds} rounds; they stay {self.stay_ms} ms"
        read.must(self.stay_ms == DAY_MS or not self.left, said)

    def _write(self, key):
        self.dated += 2 * SEGMENT_MS
        self.wire.produce(self.topic, batch("1", key=key, timestamp=self.dated)).must_succeed()

    def _count_rounds(self, read):
        """A round has ended where records are gone that were written after the one before had ended."""
        ticks = [record.offset for record in read.records if record.key == b"tick"]
        emptied = not {b"k1"} & {record.key for record in read.records}
        if emptied and ticks[0] > self.round_ends:
            self.rounds, self.round_ends = self.rounds + 1, ticks[-1]


def _markers(read):
    headers = [part.header for part in read.batches]
    return [header.base_offset for header in headers if header.is_control and header.record_count]

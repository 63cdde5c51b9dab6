"""Compaction of batches that are drawn in every part: each byte of what is left, and where it is found afterwards."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, WITHIN_S, cleanable, facts
from brokertrial.suites.probe import COMMITTED, batch
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire.records import Record

KEYS = [b"", b"\0", b"k", b"k0", b"K0", b"k0\0", b"k" * 300, b"\xff", b"\xfe\xff"]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SMALL = {"segment.ms": "1", "index.interval.bytes": "1", "delete.retention.ms": str(24 * HOUR_MS)}
"""Each batch is a second younger than the one before and begins a segment; tombstones stay for a day."""
STEP_MS = 1_000
KINDS: tuple[tuple[str, dict[str, str]], ...] = (("t", {}), ("s", {"message.timestamp.type": "LogAppendTime"}))
WHO = (*["plain"] * 3, *["idempotent"] * 2, *["transactional"] * 3)
BATCHES, FILLERS = 14, 8
SETTLED_S = 20
FACTS = (
    "last_offset",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "is_transactional",
    "is_control",
    "leader_epoch",
    "timestamp_type",
)
NEEDS = ["topic-settings", "compaction"]
APIS = {"InitProducerId": 0, "EndTxn": 0}
GUARANTEES = ["comp-001", "comp-002", "comp-003", "comp-006", "comp-011", "fetch-013", "offs-002", "idem-007"]


@case(
    "compaction/every-byte-that-is-left",
    guarantees=GUARANTEES,
    apis=APIS,
    needs=NEEDS,
    detects=["M36a", "M36b", "M36e"],
)
def what_is_left_is_what_was_written(wire, topic_of, rng):
    """Whatever was written, by plain, idempotent and transactional producers in whatever codec, the latest record of
    each key that is not of an aborted transaction MUST be kept byte for byte, null and empty parts too, in a batch with
    its original codec, timestamp type, leader epoch, producer, sequence and offsets. The newest batch of a producer
    MUST still be known, and reads from any offset, by any time and at either isolation MUST return what is left.

    Two topics, one with times of the broker's; 14 drawn batches of up to six records, cleaned; then again.
    """
    _cleaned_twice(wire, topic_of, rng, lambda topic: None)


@case(
    "compaction/every-byte-after-a-stop",
    guarantees=GUARANTEES,
    apis=APIS,
    needs=[*NEEDS, "leaders", "terminate", "restart"],
    detects=["M36a", "M36b", "M36e"],
)
def what_is_left_stays_over_a_stop(wire, topic_of, rng, nodes):
    """The latest record of each key that is not of an aborted transaction MUST be kept byte for byte, in a batch with
    its original fields, also where the leader is stopped between two cleanings: it continues cleaning where it was.
    """

    def stopped(topic):
        nodes.stop_and_start(nodes.of(topic))
        wire.await_topic(topic)

    _cleaned_twice(wire, topic_of, rng, stopped)


def _cleaned_twice(wire, topic_of, rng, between):
    for what, more in KINDS:
        topic = cleanable(wire, lambda what=what, **how: topic_of(what=what, **how), **SMALL, **more)
        log = CleanedLog(wire, rng, topic, stamped=bool(more))
        for number in range(2):
            log.write()
            log.must_be_left()
            if not number:
                between(topic)
                log.must_be_found()


class CleanedLog:
    """One topic: all batches and records as they were read before they could be cleaned."""

    def __init__(self, wire, rng, topic, *, stamped):
        self.wire, self.rng, self.topic, self.stamped = wire, rng, topic, stamped
        self.clock, self.end, self.fillers = wire.now_ms(), 0, 0
        self.idempotent, self.transactional = wire.producer(), wire.producer(wire.name(f"x-{stamped}"))
        self.open, self.aborted, self.sequence = [], set(), 0
        self.batches, self.records = {}, {}
        self.again = None
        """The bytes and the offset of the newest idempotent batch."""

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self):
        """Drawn batches, then some of keys that never come again: none of the drawn is in the newest segment."""
        for _ in range(BATCHES):
            self._written(self.rng.choice(WHO), self._drawn())
            if self.open and self.rng.random() < 0.4:
                self._ended(commit=self.rng.random() < 0.6)
        if self.open:
            self._ended(commit=True)
        for _ in range(FILLERS):
            self.fillers, self.clock = self.fillers + 1, self.clock + STEP_MS
            self._written("plain", [Record(b"filler %d" % self.fillers, b"", (), self.clock)])

    def _drawn(self):
        """One to six records of a few keys, some equal and some unordered in time."""
        rng = self.rng
        self.clock += STEP_MS
        return [
            Record(
                key=rng.choice(KEYS),
                value=rng.choice((None, b"", b"\0", rng.randbytes(rng.randint(1, 40)), b"v" * rng.randint(1, 300))),
                headers=tuple(
                    (rng.choice(("h", "", "\u00fc")), rng.choice((None, b"", b"\xff")))
                    for _ in range(rng.choice((0, 1, 3)))
                ),
                timestamp=self.clock + rng.choice((0, 0, 1, 500, -90_000)),
            )
            for _ in range(rng.randint(1, 6))
        ]

    @breaks("prod-001")
    def _written(self, who, records):
        codec = self.rng.choice(CODECS)
        if who == "transactional":
            sent = self.transactional.send(self.topic, records=records, compression=codec)
            self.open += range(self.end, self.end + len(records))
        elif who == "idempotent":
            made = self.idempotent.batch(records=records, compression=codec, sequence=self.sequence)
            self.sequence += len(records)
            sent = self.wire.produce(self.topic, made)
            self.again = (made, self.end)
        else:
            sent = self.wire.produce(self.topic, batch(records=records, compression=codec))
        self._grown(sent.must_be_at(self.end), len(records))

    @breaks("txn-004")
    def _ended(self, *, commit):
        (self.transactional.commit() if commit else self.transactional.abort()).must_succeed()
        if not commit:
            self.aborted.update(self.open)
        self.open = []
        self.wire.eventually(
            lambda: self.wire.list_offsets(self.topic, isolation=COMMITTED).must_name(offset=self.end + 1),
            within=SETTLED_S,
        )
        self._grown(None, 1)

    def _grown(self, _, count):
        """What was just written, as it is before anything could be cleaned: it is in the newest segment."""
        held = self.wire.fetch(self.topic, offset=self.end, max_wait_ms=0)
        held.must(len(held.batches) == 1, f"at {self.end} are {len(held.batches)} batches; it must be one", ROW)
        self.batches[self.end] = held.batches[0]
        if not held.batches[0].header.is_control:
            self.records |= {record.offset: record for record in held.records}
        self.end += count
        if self.stamped:
            self.wire.fetch(
                self.topic, offset=self.end, max_wait_ms=20, min_bytes=1
            )  # the next is a segment of its own

    # -- what is left ----------------------------------------------------------------------------------------

    @breaks("comp-006")
    def must_be_left(self):
        """Once it is cleaned: the right records, each as it was, in batches that are what they were."""
        left = self._cleaned()
        for record in left.records:
            found, was = facts(record), facts(self.records[record.offset])
            left.must(found == was, f"offset {record.offset} holds {found}; it was {was}")
        for part in left.batches:
            self._must_be_as_before(left, part)
        if self.again:
            made, base = self.again
            there = base in {part.header.base_offset for part in left.batches}
            with breaks("idem-007"):
                left.must(there, f"the newest batch of the idempotent producer, at offset {base}, is gone")
                self.wire.produce(self.topic, made).must_be_at(base)
        self.must_be_found()

    def _kept(self):
        """The latest of each key, none of them aborted."""
        standing = sorted(set(self.records) - self.aborted)
        return sorted({self.records[offset].key: offset for offset in standing}.values())

    def _cleaned(self):
        """Once nothing is left that has to go. Cleaning is lazy: one that never comes fails a case of its own."""
        wire, kept, began = self.wire, self._kept(), self.wire.now_ms()
        while wire.now_ms() < began + 1_000 * (WITHIN_S + wire.slack_s):
            left = wire.read_all(self.topic)
            missing = sorted(set(kept) - set(left.offsets))
            with breaks(*self._broken_without(missing, left)):
                left.must(not missing, f"the offsets {missing} are gone; they are the latest of their keys")
            if left.offsets == kept:
                return left
            wire.fetch(self.topic, offset=self.end, max_wait_ms=500, min_bytes=1)
        never = f"not all was cleaned within {WITHIN_S} s; compaction/cleaned-at-all decides whether that is a failure"
        return wire.not_applicable(never, "too-slow-here")

    @breaks("comp-006")
    def _broken_without(self, missing, left):
        """They lie at other offsets, or may have been cleaned while they were in a transaction, or are tombstones."""
        if any(
            record.offset not in self.records or facts(record) != facts(self.records[record.offset])
            for record in left.records
        ):
            return ("comp-002",)
        bases = {base for base, part in self.batches.items() if part.header.is_transactional}
        open_once = any(base <= at <= self.batches[base].header.last_offset for at in missing for base in bases)
        tombstones = any(self.records[at].value is None for at in missing)
        return ("comp-001", *(["comp-003"] if tombstones else []), *(["comp-011"] if open_once else []))

    def _must_be_as_before(self, left, part):
        header, where = part.header, f"the batch at {part.header.base_offset}"
        left.must(part.crc_ok(), f"{where} does not fit its checksum")
        with breaks("comp-002"):
            left.must(header.base_offset in self.batches, f"{where} was never written; {sorted(self.batches)} were")
        was = self.batches[header.base_offset]
        found, wanted = ([getattr(each, name) for name in FACTS] for each in (header, was.header))
        left.must(found == wanted, f"{where} has {FACTS} {found}; it had {wanted}")
        held = list(part.records())
        if held:
            codec, newest = header.compression, max(record.timestamp for record in held)
            was_codec, stated_newest = was.header.compression, header.max_timestamp
            left.must(codec == was_codec, f"{where} is packed with {codec}; it was with {was_codec}")
            left.must(newest == stated_newest, f"{where} says that its newest time is {stated_newest}; it is {newest}")
        if len(held) == was.header.record_count and not header.has_delete_horizon:
            left.must(bytes(part.bytes) == bytes(was.bytes), f"{where} holds all that it held, in other bytes")

    @breaks("comp-002")
    def must_be_found(self):
        """From each of some offsets, and by each of some times; whether a marker has a time that counts is open."""
        wire, kept = self.wire, self._kept()
        wire.list_offsets(self.topic).must_name(offset=self.end)
        wire.list_offsets(self.topic, at="earliest").must_name(offset=0)
        for at in sorted({0, *self.rng.sample(range(self.end), 8)}):
            due = [offset for offset in kept if offset >= at]
            with breaks("fetch-013"):
                wire.read_all(self.topic, offset=at, isolation=COMMITTED).must_have_offsets(due)
        markers = [(base, one.header.max_timestamp) for base, one in self.batches.items() if one.header.is_control]
        times = [(offset, self.records[offset].timestamp) for offset in kept]
        for _, time in self.rng.sample(times, min(8, len(times))):
            found = [min(each for each, when in rows if when >= time) for rows in (times, sorted(times + markers))]
            with breaks("offs-002"):
                answer = wire.list_offsets(self.topic, at=time)
                named = f"at {time} offset {answer.offset} is named; it must be one of {found}"
                answer.must(answer.offset in found, named, "topics")


ROW = "responses[0].partitions[0].records"

"""Batches as they are drawn, and what a topic's settings must say of each (Kafka's LogValidator, UnifiedLog.append).

A batch is drawn for the settings in force: either it is valid, or one thing is wrong with it. Sizes and times keep away
from where the expected result is undecidable: the bytes after a codec that the broker chooses, the clocks.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.records import NO_TIMESTAMP, Record

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
ANY_TIME = (1 << 63) - 1
CODECS = ("none", "none", "gzip", "snappy", "snappy-raw", "lz4", "zstd")
"""Snappy with the framing of Java's library and without it, as other clients send it."""
ZSTD_SINCE = 7
MARGIN = 400
"""What a codec may add to bytes that it cannot make smaller."""

WRONG = (errors.INVALID_RECORD, errors.CORRUPT_MESSAGE)
WRONG_SHAPE = (*WRONG, errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, errors.INVALID_REQUEST)
UNREADABLE = (*WRONG, errors.UNKNOWN_SERVER_ERROR)
REFUSED = {
    errors.MESSAGE_TOO_LARGE: ("prod-006",),
    errors.UNSUPPORTED_COMPRESSION_TYPE: ("prod-011",),
    errors.UNKNOWN_TOPIC_OR_PARTITION: ("prod-008",),
    errors.UNKNOWN_TOPIC_ID: ("prod-008",),
    errors.INVALID_REQUIRED_ACKS: ("prod-005",),
    errors.INVALID_TIMESTAMP: ("rec-004",),
    errors.INVALID_RECORD: ("comp-005",),
    errors.CORRUPT_MESSAGE: ("rec-006",),
    errors.OUT_OF_ORDER_SEQUENCE_NUMBER: ("idem-005",),
    errors.INVALID_PRODUCER_EPOCH: ("idem-009",),
}
"""What is broken where a batch is not refused with this code, or is without a reason."""
BROKEN = (
    *("checksum", "count", "both_counts", "control", "begins_later", "shape", "shape", "cut_off", "no_sequence"),
    *("header_without_key", "unknown_codec", "says_append"),
)
"""What is wrong with a batch whatever the settings are, or nearly so."""


class Rules(NamedTuple):
    """The settings of a topic that decide over a batch."""

    codec: str = "producer"
    own_time: bool = False
    """LogAppendTime: the broker's own."""
    before_ms: int = ANY_TIME
    after_ms: int = ANY_TIME
    limit: int = 30_000
    compacted: bool = False

    def stored_in(self, codec):
        return {"producer": codec, "uncompressed": "none"}.get(self.codec, self.codec)


@dataclass(frozen=True, slots=True)
class DrawnBatch:
    """One batch as it is sent; or what is no batch, which is refused with one of the codes."""

    data: bytes
    records: tuple[Record, ...] = ()
    codec: str = "none"
    producer: tuple[int, int, int] = (-1, -1, -1)
    codes: tuple[int, ...] = ()
    plain_size: int = 0
    """Its bytes where it is not compressed."""


def made(records, codec="none", codes=(), producer=(-1, -1, -1), **settings):
    fields = dict(zip(("producer_id", "producer_epoch", "base_sequence"), producer, strict=True)) | settings
    data = batch(records=records, timestamp=NO_TIMESTAMP, compression=codec, **fields)
    plain = len(batch(records=records, timestamp=NO_TIMESTAMP))
    return DrawnBatch(data, tuple(records), codec.removesuffix("-raw"), producer, tuple(codes), plain)


def judged(one, rules, version, now_ms):
    """The error codes with one of which it must be refused (none: it must be taken), and which records are wrong."""
    if one.codes:
        return one.codes, set()
    if one.codec == "zstd" and version < ZSTD_SINCE:
        return (errors.UNSUPPORTED_COMPRESSION_TYPE,), set()
    if len(one.data) > rules.limit:
        return (errors.MESSAGE_TOO_LARGE,), set()
    numbered = list(enumerate(one.records))
    wrong = {n for n, record in numbered if rules.compacted and record.key is None}
    late = {n for n, record in numbered if n not in wrong and not _in_time(record.timestamp, rules, now_ms)}
    if wrong or late:
        return (errors.INVALID_TIMESTAMP if late else errors.INVALID_RECORD,), wrong | late
    if rules.stored_in(one.codec) == "none" and one.plain_size > rules.limit:
        return (errors.MESSAGE_TOO_LARGE,), set()
    return (), set()


def broken_by(codes):
    """The guarantees that are broken by a batch which is not refused with one of these codes."""
    if errors.UNSUPPORTED_FOR_MESSAGE_FORMAT in codes:
        return ("prod-013",)
    if {*WRONG} <= {*codes}:
        return ("rec-006", "rec-007")
    return next((REFUSED[code] for code in codes if code in REFUSED), ("prod-007",))


def _in_time(moment, rules, now_ms):
    return rules.own_time or moment == NO_TIMESTAMP or -rules.after_ms <= now_ms - moment <= rules.before_ms


def fits_surely(one, rules):
    """Whether it fits without doubt, whatever codec it is stored in."""
    return max(one.plain_size, len(one.data)) + MARGIN <= rules.limit


def of_size(size, key, now_ms, codec="none"):
    """One record of bytes that compress well, in a batch of exactly so many bytes before it is compressed."""

    def of(length):
        return made([Record(key, b"z" * length, timestamp=now_ms)], codec)

    found = of(size)
    while found.plain_size > size:
        found = of(len(found.records[0].value or b"") - (found.plain_size - size))
    return found


class Drawing:
    """Draws batches; a key is used once, so that compaction has nothing to remove."""

    def __init__(self, rng, now_ms):
        self.rng, self.now_ms, self._keys = rng, now_ms, 0

    def key(self):
        self._keys += 1
        return b"k%d" % self._keys + b"." * self.rng.choice((0, 0, 0, 57, 140))

    def good(self, rules, version, producer=None):
        """A batch that such a topic must take; of a producer with an id none that looks old, for such are forgotten."""
        codec = self.rng.choice([each for each in CODECS if each != "zstd" or version >= ZSTD_SINCE])
        for most in (self.rng.choice((300, 300, 300, 40)), 300, 40):
            if fits_surely(found := self._batch(rules, codec, producer, most), rules):
                return found
        return self._batch(rules, codec, producer, 0)

    def _batch(self, rules, codec, producer, most):
        """Up to 80 records of so many bytes at most; what the broker writes into the header may be anything."""
        rng = self.rng
        count = rng.choice((1, 1, 2, 3, 5, 80 if most < 300 else 7))
        records = self._dated([self._record(rules, most) for _ in range(count)], rules, producer is not None)
        extra = {"leader_epoch": rng.choice((-1, -1, 0, 77))}
        if rng.random() < 0.15:
            extra["base_timestamp"] = max(records[0].timestamp, 0) + rng.randint(-5_000, 5_000)
        if rng.random() < 0.15:
            extra["max_timestamp"] = rng.choice((-1, 0, self.now_ms - 5 * DAY, self.now_ms + 500 * DAY))
        return made(records, codec, producer=producer or (-1, -1, -1), **extra)

    def _record(self, rules, most):
        rng = self.rng

        def some(longest):
            return rng.choice((None, b"", rng.randbytes(rng.randint(1, max(longest, 1)))))

        key = self.key() if rules.compacted else rng.choice((None, None, b"", self.key()))
        names = ("h", "h", "g", "", "ü", "a name that is longer" * rng.choice((1, 4)))
        headers = tuple((rng.choice(names), some(20)) for _ in range(rng.choice((0, 0, 0, 1, 2, 5, 70 * (most > 40)))))
        value = some(most) if most < 300 or rng.random() < 0.8 else b"\0" * rng.randint(500, 2_000)
        return Record(key, value, headers)

    def _dated(self, records, rules, recent):
        """All of one time, rising, falling or mixed, some of them without; all within the bounds."""
        rng, now = self.rng, self.now_ms
        near = [now, now - 1, now - 20 * MINUTE, now + 20 * MINUTE]
        past, future = (ANY_TIME, ANY_TIME) if rules.own_time else (rules.before_ms, rules.after_ms)
        far = [now - 2 * DAY] * (past > HOUR) + [0, 1, DAY - 1, now - 400 * DAY] * (past == ANY_TIME)
        far += [now + 2 * DAY] * (future > HOUR) + [now + 400 * DAY] * (future == ANY_TIME)
        pool = near if recent else [*near, *near, NO_TIMESTAMP, *far]
        moments = [rng.choice(pool) for _ in records]
        how = rng.choice(("same", "rising", "falling", "mixed", "mixed"))
        if how == "same":
            moments = [moments[0]] * len(moments)
        elif how != "mixed":
            moments.sort(reverse=how == "falling")
        return [replace(record, timestamp=moment) for record, moment in zip(records, moments, strict=True)]

    # -- with one thing that is wrong ------------------------------------------------------------------------

    def bad(self, rules, version):
        """A batch that such a topic must refuse, or no batch at all."""
        unpacked = ["unpacked"] * (15 if rules.codec == "uncompressed" else 1)
        ways = [*BROKEN, *["untimely"] * 4, *["keyless"] * 3, *unpacked, "too_large", "too_large"]
        while True:
            if (found := getattr(self, f"_{self.rng.choice(ways)}")(rules, version)) is not None:
                return found

    def _again(self, rules, version, codes=WRONG, **wrong):
        """A valid batch, created again with something wrong in it."""
        good = self.good(rules, version)
        return made(good.records, good.codec, codes, **wrong)

    def _checksum(self, rules, version):
        return self._again(rules, version, crc=self.rng.getrandbits(32))

    def _count(self, rules, version):
        good = self.good(rules, version)
        count = self.rng.choice((-1, 0, len(good.records) + 1, 1 << 20))
        return made(good.records, good.codec, WRONG, record_count=count)

    def _both_counts(self, rules, version):
        """More or fewer are announced than there are, with offsets that fit."""
        good = self.good(rules, version)
        count = self.rng.choice((len(good.records) + 1, max(len(good.records) - 1, 0)))
        return made(good.records, good.codec, WRONG, record_count=count, last_offset_delta=count - 1)

    def _control(self, rules, version):
        return self._again(rules, version, control=True)

    def _begins_later(self, rules, version):
        return self._again(rules, version, base_offset=self.rng.choice((1, 5, -1)))

    def _no_sequence(self, rules, version):
        return self._again(rules, version, producer=(self.rng.randrange(1 << 30), 0, -1))

    def _header_without_key(self, rules, version):
        good = self.good(rules, version)
        last = replace(good.records[-1], headers=((None, b"v"),))
        return made([*good.records[:-1], last], self.rng.choice(("none", "gzip")), WRONG)

    def _cut_off(self, rules, version):
        good = self.good(rules, version)
        payload = good.data[61 : -self.rng.randint(1, 5)]
        return made(good.records, good.codec, UNREADABLE, payload=payload)

    def _unknown_codec(self, rules, version):
        """Before version 7 the look for zstd ends the whole request."""
        if version < ZSTD_SINCE:
            return None
        codes = (*UNREADABLE, errors.UNSUPPORTED_COMPRESSION_TYPE)
        return made(self.good(rules, version).records, "none", codes, attributes=self.rng.choice((5, 6, 7)))

    def _says_append(self, rules, version):
        """As if the broker's time were in it already."""
        if not rules.own_time:
            return None
        return self._again(rules, version, (errors.INVALID_TIMESTAMP, *WRONG), timestamp_type="append")

    def _shape(self, rules, version):
        """No batch of the present format, or more than one."""
        good = self.good(rules, version)
        forms = (b"", good.data * 2, good.data[:-1], good.data[:30], batch(b"a", magic=1))
        return DrawnBatch(self.rng.choice(forms), codes=WRONG_SHAPE)

    def _too_large(self, rules, version):
        return of_size(rules.limit + self.rng.choice((1, 1, 2, 500)), self.key(), self.now_ms)

    def _unpacked(self, rules, version):
        """Small as it is sent, and larger than the limit where it is stored without a codec; elsewhere it is taken."""
        return of_size(rules.limit + self.rng.choice((1, 1, 3_000)), self.key(), self.now_ms, "gzip")

    def at_the_limit(self, rules):
        """Just as large as is allowed: as it is sent, or as it is stored."""
        codec = "gzip" if rules.codec == "uncompressed" and self.rng.random() < 0.5 else "none"
        return of_size(rules.limit, self.key(), self.now_ms, codec)

    def _untimely(self, rules, version):
        wrong = []
        if not rules.own_time and rules.before_ms < ANY_TIME:
            wrong += [0, self.now_ms - rules.before_ms - 2 * HOUR, self.now_ms - 100 * DAY]
        if not rules.own_time and rules.after_ms < ANY_TIME:
            wrong += [self.now_ms + rules.after_ms + 2 * HOUR, self.now_ms + 900 * DAY]
        if not wrong:
            return None
        keyless = rules.compacted and self.rng.random() < 0.4

        def spoil(record):
            other = replace(record, timestamp=self.rng.choice(wrong))
            return replace(record, key=None) if keyless and self.rng.random() < 0.5 else other

        return self._spoiled(rules, version, spoil)

    def _keyless(self, rules, version):
        if not rules.compacted:
            return None
        return self._spoiled(rules, version, lambda record: replace(record, key=None))

    def _spoiled(self, rules, version, spoil):
        """Some records of a good one are spoiled, not always the first."""
        good = self.good(rules, version)
        records = list(good.records)
        for n in self.rng.sample(range(len(records)), min(len(records), self.rng.choice((1, 1, 2, 3)))):
            records[n] = spoil(records[n])
        return made(records, good.codec)

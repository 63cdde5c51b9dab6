"""What may be cleaned, by lags, shares of dirt and times that are drawn (KIP-58, KIP-354)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, WITHIN_S, cleanable, facts
from brokertrial.suites.probe import batch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.wire.records import Record

SEGMENT_HOURS, SEGMENTS, PARTITIONS = 5, 6, 3
KEYS = (b"k0", b"k1", b"k2", b"k3")
MIN_LAG, MAX_LAG, RATIO = "min.compaction.lag.ms", "max.compaction.lag.ms", "min.cleanable.dirty.ratio"
SOON, NEVER_BY_SHARE = "0.001", "1"
"""A log that was never cleaned has a share of 1, and more than that there is not."""
FROM_THE_BEGINNING = {"young": {RATIO: SOON, MIN_LAG: str(100_000 * HOUR_MS)}}
"""All of this log is young until its lag is set. Apache Kafka reads the lag first and the share later: were both set at
once, it would sometimes take the old lag and the new share (LogCleanerManager.grabFilthiestCompactedLog)."""


class LaggedSegment:
    """A segment: its first offset, and of its batches the newest time of the first one and of all, in hours."""

    def __init__(self, base, first):
        self.base, self.first, self.newest = base, first, first


class DatedLog:
    """A topic that is cleaned by settings of its own, and what was written to one of its partitions."""

    def __init__(self, wire, rng, topic):
        self.wire, self.rng, self.topic, self.partition = wire, rng, topic, rng.randrange(PARTITIONS)
        self.records, self.segments = [], []
        self.now, self.clock = wire.now_ms(), -300

    def write(self, segments):
        """Segments of drawn batches: a first one, then older and younger ones that do not begin another segment."""
        for _ in range(segments):
            first = self.clock = self.clock + self.rng.randint(12, 20)
            self.segments.append(LaggedSegment(len(self.records), first))
            later = [first + self.rng.randint(2, SEGMENT_HOURS), first - self.rng.randint(1, 60)]
            hours = [first, *self.rng.sample([*later, first - self.rng.randint(1, 9)], 3)]
            self.segments[-1].newest = max(hours)
            for hour in hours:
                self._batch(hour)

    def _batch(self, newest):
        """One to three records; the newest of them anywhere among the others."""
        hours = [newest, *(newest - self.rng.randint(0, 30) for _ in range(self.rng.randint(0, 2)))]
        self.rng.shuffle(hours)
        made = [
            Record(self.rng.choice(KEYS), self.rng.choice((b"", self.rng.randbytes(40))), (), self.now + hour * HOUR_MS)
            for hour in hours
        ]
        self.wire.produce(self.topic, batch(records=made), self.partition).must_be_at(len(self.records))
        self.records += made

    def fill(self, size):
        """A segment of one record of so many bytes, and the next one."""
        self._alone(b"fill %d" % len(self.records), self.rng.randbytes(size))
        self.end()

    def end(self):
        """One more segment, which is written to and never cleaned."""
        self._alone(b"end", b"%d" % len(self.records))

    def _alone(self, key, value):
        self.clock += 20
        self.segments.append(LaggedSegment(len(self.records), self.clock))
        made = Record(key, value, (), self.now + self.clock * HOUR_MS)
        self.wire.produce(self.topic, batch(records=[made]), self.partition).must_be_at(len(self.records))
        self.records.append(made)

    def settle(self, **settings):
        """Its settings from now on."""
        changes = [(key, SET, value) for key, value in settings.items()]
        self.wire.change_configs(TOPIC, self.topic, changes).must_succeed()

    def age(self, hour):
        """How long ago that was, in milliseconds: half an hour before one of the times."""
        return str(round(self.wire.now_ms() - (self.now + (hour - 0.5) * HOUR_MS)))

    def left(self, end):
        """What is left once all below an offset is cleaned: there the latest of each key, and all from there on."""
        latest = {record.key: offset for offset, record in enumerate(self.records[:end])}
        return sorted([*latest.values(), *range(end, len(self.records))])

    def must_become(self, end):
        """It comes to that; on the way nothing may be missing that is to be left."""
        wanted = self.left(end)
        began = self.wire.now_ms()
        while self._look(wanted).offsets != wanted:
            if self.wire.now_ms() > began + 1_000 * (WITHIN_S + self.wire.slack_s):
                return False
            self.wire.fetch(self.topic, self.partition, offset=len(self.records), max_wait_ms=500, min_bytes=1)
        return True

    def is_begun(self, end):
        """Whether some of it is gone that was there when it was written last."""
        new = set(range(self.segments[-3].base, end)) - set(self.left(end))
        return bool(new.difference(self.wire.read_all(self.topic, self.partition).offsets))

    def must_be(self, end):
        log, wanted = self._look(self.left(end)), self.left(end)
        log.must(log.offsets == wanted, f"the offsets {log.offsets} are left; they must be {wanted}")

    def _look(self, wanted):
        log = self.wire.read_all(self.topic, self.partition)
        gone = sorted(set(wanted) - set(log.offsets))
        log.must(not gone, f"the offsets {gone} are gone; left must be {wanted}")
        for record in log.records:
            found, was = facts(record), facts(self.records[record.offset])
            log.must(found == was, f"offset {record.offset} holds {found}; it was {was}")
        return log


@case(
    "compaction/drawn-lags",
    guarantees=["comp-001", "comp-002", "comp-004", "comp-009"],
    apis={"IncrementalAlterConfigs": 0},
    needs=["topic-settings", "compaction"],
    detects=["B65", "L07", "L08"],
)
def what_is_young_stays_and_what_is_overdue_goes(wire, topic_of, rng):
    """Records MUST NOT be cleaned from the first segment on that has one younger than min.compaction.lag.ms, whichever
    of its records that is; all before it MUST be, and the rest too once the lag is shorter, with what is written then
    and without. Where the share of dirt is too small for ever, a log MUST be cleaned once its first record is older
    than max.compaction.lag.ms.

    Logs of seven segments of drawn batches, whose times go up and down; a lag ends between the first and the newest
    time of a segment. Another log shows that the cleaner has looked.
    """
    young, overdue = (_made(wire, topic_of, rng, what, NEVER_BY_SHARE) for what in ("young", "overdue"))
    other = _made(wire, topic_of, rng, "other", SOON)
    for log in (young, overdue):
        log.write(SEGMENTS)
        log.end()
    edge = rng.choice(young.segments[2:-1])
    young.settle(**{MIN_LAG: young.age(edge.newest), RATIO: SOON})
    overdue.settle(**{MAX_LAG: overdue.age(overdue.segments[0].newest)})
    cleaned = young.must_become(edge.base) and overdue.must_become(overdue.segments[-1].base)
    _must_look(wire, other, cleaned)
    young.must_be(edge.base)

    young.settle(**{MIN_LAG: "0"})
    _must_look(wire, other, young.must_become(young.segments[-1].base))
    young.write(2)
    young.end()
    _must_look(wire, other, young.must_become(young.segments[-1].base))


@case(
    "compaction/share-of-dirt",
    guarantees=["comp-009", "comp-001"],
    level="should",
    apis={"IncrementalAlterConfigs": 0},
    needs=["topic-settings", "compaction"],
    detects=["L11"],
)
def a_log_is_cleaned_by_its_share_of_dirt(wire, topic_of, rng):
    """A log SHOULD be left alone as long as the share of what may be cleaned and never was is not above
    min.cleanable.dirty.ratio and nothing in it is older than max.compaction.lag.ms; it SHOULD be cleaned when it is.

    Cleaned by half as its limit, it grows by a fifth of what it is then, and by more than it is. Another log shows that
    the cleaner has looked.
    """
    log, other = _made(wire, topic_of, rng, "log", NEVER_BY_SHARE), _made(wire, topic_of, rng, "other", SOON)
    log.write(SEGMENTS)
    log.end()
    log.settle(**{MAX_LAG: log.age(log.segments[0].first)})
    _must_look(wire, other, True)
    log.must_be(0)
    log.settle(**{RATIO: "0.5"})
    _must_look(wire, other, log.must_become(log.segments[-1].base))
    log.fill(20_000)
    cleaned_to = log.segments[-1].base
    _must_look(wire, other, log.must_become(cleaned_to))
    log.fill(5_000)
    _must_look(wire, other, True)
    log.must_be(cleaned_to)
    log.fill(30_000)
    _must_look(wire, other, log.must_become(log.segments[-1].base))


@case(
    "compaction/lag-ends-a-segment",
    guarantees=["comp-009", "comp-001"],
    needs=["topic-settings", "compaction"],
    detects=["Z11"],
)
def the_newest_segment_is_ended_so_that_it_can_be_cleaned(wire, topic_of, rng):
    """Where records may wait no longer than max.compaction.lag.ms, a segment MUST end after that time although
    segment.ms is longer: all that is older MUST be cleaned, whatever the share of dirt.

    Seven drawn segments by that lag alone. Another log shows that the cleaner has looked.
    """
    lag = {"segment.ms": str(100_000 * HOUR_MS), MAX_LAG: str(SEGMENT_HOURS * HOUR_MS)}
    log, other = _made(wire, topic_of, rng, "log", NEVER_BY_SHARE, **lag), _made(wire, topic_of, rng, "other", SOON)
    log.write(SEGMENTS)
    log.end()
    _must_look(wire, other, log.must_become(log.segments[-1].base))
    log.must_be(log.segments[-1].base)


def _made(wire, topic_of, rng, what, share, **own):
    settings = {"segment.ms": str(SEGMENT_HOURS * HOUR_MS), RATIO: share} | FROM_THE_BEGINNING.get(what, {}) | own
    made = cleanable(wire, lambda **how: topic_of(what=what, partitions=PARTITIONS, **how), **settings)
    return DatedLog(wire, rng, made)


def _must_look(wire, other, cleaned):
    """Cleaning is lazy, and a log that is never cleaned fails a case of its own: here it must only be in its turn."""
    other.write(2)
    other.end()
    end = other.segments[-1].base
    if not other.must_become(end):
        if other.is_begun(end):
            other.must_be(end)
        wire.not_applicable(f"nothing was cleaned within {WITHIN_S} s; see compaction/cleaned-at-all", "too-slow-here")
    wire.must(cleaned, f"another log was cleaned; what was to be cleaned before it was not within {WITHIN_S} s")

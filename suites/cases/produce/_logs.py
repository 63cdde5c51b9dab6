"""Topics as they must be: their settings in force, and what was taken into each of their partitions."""

from dataclasses import dataclass
from typing import NamedTuple

from brokertrial.suites.cases.produce._batches import ANY_TIME, DAY, HOUR, DrawnBatch, Rules, of_size
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.suites.probe.failures import breaks
from brokertrial.suites.probe.same_draws import same_draws
from brokertrial.wire import errors

WITHIN_S, SKEW_MS, UNKNOWN, EITHER = 20, 120_000, -2, -3
FIXED = {"retention.ms": "-1", "min.cleanable.dirty.ratio": "1", "segment.ms": str(10**14)}
"""Nothing goes by itself, and one segment holds all: Kafka looks for a time in the first segment that held one so late,
though what is left of that one may not."""
BEFORE, AFTER, DIFFERENCE = (f"message.timestamp.{each}.max.ms" for each in ("before", "after", "difference"))
LIMITS = (6_000, 7_000, 9_000, 12_000, 16_000, 30_000)
BOUNDS = (HOUR, 3 * DAY, ANY_TIME)
TYPES = ("producer", "producer", "uncompressed", "uncompressed", "gzip", "snappy", "lz4", "zstd")
MOVED = (errors.NOT_LEADER_OR_FOLLOWER, errors.LEADER_NOT_AVAILABLE)
DEFAULTS = {"compression.type": "compression.type", "message.timestamp.type": "log.message.timestamp.type"}
MOST_PARTITIONS = 4
SAID = ("key", "value", "headers", "timestamp", "offset")
CONTENT = ("rec-001", "prod-011")
BROKEN_BY = dict(zip(SAID, (CONTENT, CONTENT, CONTENT, ("rec-002", "rec-003"), ("prod-001",)), strict=True))
STORED = {
    "last offset": "prod-001",
    "producer, epoch, sequence": "idem-002",
    "transactional, control": "prod-013",
    "checksum holds": "rec-005",
    "codec": "prod-012",
}
"""What is broken where this of a batch is stored otherwise; of its times see there."""


class Stored(NamedTuple):
    """A batch in the log: what was sent, where it begins, and how it is stored."""

    sent: DrawnBatch
    base: int
    append_ms: int
    """The broker's time for all its records; -1: they have their own; UNKNOWN: the broker's, which was not returned;
    EITHER: unknown which of the two."""
    codec: str | None
    """None: unknown."""

    @property
    def end(self):
        return self.base + len(self.sent.records)

    def times(self):
        return [record.timestamp if self.append_ms == -1 else self.append_ms for record in self.sent.records]


@dataclass
class WrittenLog:
    """One partition."""

    stored: list[Stored]
    start: int = 0

    @property
    def end(self):
        return self.stored[-1].end if self.stored else 0

    def take(self, sent, append_ms, codec):
        self.stored.append(Stored(sent, self.end, append_ms, codec))
        return self.stored[-1]


class WrittenTopics:
    """`in_full`: what brokers only should do is looked at too, such as the codec of what is stored."""

    def __init__(self, wire, rng, drawing, *, in_full):
        self.wire, self.rng, self.drawing, self.in_full = wire, rng, drawing, in_full
        self.rules: dict[str, Rules] = {}
        self.logs: dict[tuple[str, int], WrittenLog] = {}
        self.defaults: dict[str, str | None] = {}
        self.bounds: tuple[str, ...] | None = None
        """The settings that bound times, in this release."""
        self.lost = ("prod-001", "prod-004")
        """What is broken where the log is not what was taken; it was all there before a restart."""

    # -- settings --------------------------------------------------------------------------------------------

    def make(self, topic_of, compacted, partitions=2):
        """A topic with drawn settings; the first one has its bounds of time set afterwards, when they are known."""
        rules = self._drawn(Rules(compacted=compacted), 4)
        topic = topic_of(partitions=partitions, configs=FIXED | self._settings_of(rules))
        if self.bounds is None:
            known = self.wire.configs_of_topic(topic)
            self.bounds = (BEFORE, AFTER) if BEFORE in known else (DIFFERENCE,)
        self.rules[topic] = rules
        self.logs |= {(topic, number): WrittenLog([]) for number in range(partitions)}
        self.change(topic, 4)

    @breaks("adm-009")
    def change(self, topic, most):
        """Some settings change; then each partition is asked until they are in force there.

        Another limit is always among them: a batch between the old and the new one shows it.
        """
        before, self.rules[topic] = self.rules[topic], self._drawn(self.rules[topic], most)
        changes = [self._said(key, value) for key, value in self._settings_of(self.rules[topic]).items()]
        self.wire.change_configs(TOPIC, topic, changes).must_succeed()
        for place in self.logs:
            if place[0] == topic:
                again = same_draws(self.rng, self._in_force, place, before)
                self.wire.eventually(again, within=WITHIN_S)

    def _said(self, key, value):
        """Set; or deleted, where that comes to the same."""
        if key in DEFAULTS and self.rng.random() < 0.5:
            if key not in self.defaults:
                self.defaults[key] = self.wire.setting(DEFAULTS[key])
            if self.defaults[key] == value:
                return key, DELETE, None
        return key, SET, value

    @breaks("adm-007")
    def grow(self, topic):
        """Another partition, to which the settings in force apply."""
        count = sum(name == topic for name, _ in self.logs)
        if count < MOST_PARTITIONS:
            self.wire.create_partitions(topic, count + 1).must_succeed()
            self.wire.await_topic(topic)
            self.logs[topic, count] = WrittenLog([])

    def _drawn(self, rules, most):
        rng = self.rng
        limit = rng.choice([each for each in LIMITS if each != rules.limit])
        changed = {"limit": limit}
        for what in rng.sample(("codec", "codec", "own_time", "before_ms", "after_ms"), rng.randint(1, most)):
            changed[what] = rng.choice(
                TYPES if what == "codec" else (False, False, True) if what == "own_time" else BOUNDS
            )
        if self.bounds == (DIFFERENCE,):
            bound = changed.get("before_ms", rules.before_ms)
            changed |= {"before_ms": bound, "after_ms": bound}
        return rules._replace(**changed)

    def _settings_of(self, rules):
        bounds = {BEFORE: rules.before_ms, AFTER: rules.after_ms, DIFFERENCE: rules.before_ms}
        return {
            "compression.type": rules.codec,
            "message.timestamp.type": "LogAppendTime" if rules.own_time else "CreateTime",
            "max.message.bytes": str(rules.limit),
            "cleanup.policy": "compact" if rules.compacted else "delete",
            **{key: str(bounds[key]) for key in self.bounds or ()},
        }

    @breaks("adm-010", "prod-006")
    def _in_force(self, place, before):
        """A batch between both limits is taken or refused as the new one says; one that is still taken may be stored
        by the old settings or the new."""
        after, log = self.rules[place[0]], self.logs[place]
        size = (before.limit + after.limit) // 2
        sent = of_size(size, self.drawing.key(), self.drawing.now_ms)
        answer = self.wire.produce(place[0], sent.data, place[1], retry=False)
        codecs = {rules.stored_in("none") for rules in (before, after)}
        if answer.error in MOVED:
            if self.was_taken(place, sent):
                log.take(sent, EITHER, _only(codecs))
        elif answer.error == 0:
            answer.must_be_at(log.end)
            surely = after.limit > before.limit
            append_ms = answer.log_append_time if surely or before.own_time == after.own_time else EITHER
            log.take(sent, append_ms, after.stored_in("none") if surely else _only(codecs))
        if after.limit > before.limit:
            return answer.must_succeed()
        return answer.must_be_refused(errors.MESSAGE_TOO_LARGE)

    @breaks("prod-001")
    def was_taken(self, place, sent):
        """Whether a batch is in the log though its leader answers that it is no longer the leader, as it may while it
        waits for its followers. The next leader returns an end only when it has committed all that it took over
        (KIP-207).
        """
        self.wire.refresh_metadata(place[0])
        end, log = self.wire.log_end(*place), self.logs[place]
        known = {log.end: False, log.end + len(sent.records): True}
        self.wire.must(end in known, f"the end of {place[0]}-{place[1]} is {end}; it must be one of {list(known)}")
        return known[end]

    # -- what is read ----------------------------------------------------------------------------------------

    def must_be_read(self, place):
        """Everything from the log's start on, record by record and batch by batch, and where times are found."""
        self.must_end(place)
        log, found = self.logs[place], self.wire.read_all(*place)
        rows = [each for each in log.stored if each.end > log.start]
        batches = [(part.header.base_offset, part.header.record_count) for part in found.batches]
        wanted = [(each.base, len(each.sent.records)) for each in rows]
        with breaks(*self.lost):
            found.must(batches == wanted, f"the batches (first offset, records) are {batches}; they must be {wanted}")
        for number, (each, part) in enumerate(zip(rows, found.batches, strict=True)):
            if each.append_ms in (UNKNOWN, EITHER):
                each = self._learnt(found, each, part.header)
                rows[number] = log.stored[number - len(rows)] = each
            self._batch_must_be(found, each, part)
        self._records_must_be(found, rows, log.start)
        self._times_must_be_found(place, rows, log.start)

    def must_end(self, place):
        """With acks 0 or 1 no answer shows when the followers have it."""
        end = self.logs[place].end

        def come():
            answer = self.wire.list_offsets(*place)
            return answer.must(answer.offset >= end, f"the end is {answer.offset}; it must come to {end}", "topics")

        with breaks(*self.lost):
            self.wire.eventually(come, within=WITHIN_S).must_name(offset=end)

    @breaks("rec-003")
    def _learnt(self, found, each, header):
        """The same batch with its actual time, which the answer did not contain."""
        if each.append_ms == EITHER and header.timestamp_type == "create":
            return each._replace(append_ms=-1)
        now, append_ms = self.wire.now_ms(), header.max_timestamp
        within = self.drawing.now_ms - SKEW_MS <= append_ms <= now + SKEW_MS
        found.must(within, f"the batch at {each.base} has the broker's time {append_ms}; it is {now}")
        return each._replace(append_ms=append_ms)

    def _batch_must_be(self, found, each, part):
        header, sent = part.header, each.sent
        stored = {
            "last offset": header.last_offset,
            "largest time": header.max_timestamp,
            "kind of time": header.timestamp_type,
            "producer, epoch, sequence": (header.producer_id, header.producer_epoch, header.base_sequence),
            "transactional, control": (header.is_transactional, header.is_control),
            "checksum holds": part.crc_ok(),
        }
        wanted = {
            "last offset": each.end - 1,
            "largest time": max(each.times()),
            "kind of time": "create" if each.append_ms == -1 else "append",
            "producer, epoch, sequence": sent.producer,
            "transactional, control": (False, False),
            "checksum holds": True,
        }
        if self.in_full and each.codec is not None:
            stored["codec"], wanted["codec"] = header.compression, each.codec
        wrong = {what: value for what, value in stored.items() if value != wanted[what]}
        right = {what: wanted[what] for what in wrong}
        with breaks(STORED.get(next(iter(wrong), ""), "rec-002" if each.append_ms == -1 else "rec-003")):
            found.must(not wrong, f"the batch at offset {each.base} has {wrong}; it must have {right}")

    def _records_must_be(self, found, rows, start):
        wanted = [
            (record.key, record.value, record.headers, time, each.base + number)
            for each in rows
            for number, (record, time) in enumerate(zip(each.sent.records, each.times(), strict=True))
            if each.base + number >= start
        ]
        records = [(each.key, each.value, each.headers, each.timestamp, each.offset) for each in found.records]
        with breaks(*self.lost):
            found.must(len(records) == len(wanted), f"{len(records)} records are read; they must be {len(wanted)}")
        for was, came in zip(wanted, records, strict=True):
            for what, one, other in zip(SAID, was, came, strict=True):
                with breaks(*BROKEN_BY[what]):
                    said = f"the {what} at offset {was[-1]} is {_short(other)}; it must be {_short(one)}"
                    found.must(one == other, said)

    @breaks("offs-002", "offs-005")
    def _times_must_be_found(self, place, rows, start):
        """The first record at or after some of the times; of a log that was not trimmed also the largest of them."""
        wire = self.wire
        times = [
            (time, each.base + number)
            for each in rows
            for number, time in enumerate(each.times())
            if each.base + number >= start
        ]
        largest = max((time for time, _ in times), default=-1)
        if largest >= 0 and not start and max(wire.versions("ListOffsets"), default=0) >= 7:
            wire.list_offsets(*place, at="max-timestamp").must_name(timestamp=largest)
        for time, _ in self.rng.sample(times, min(len(times), 3)):
            asked = max(time + self.rng.choice((-1, 0, 1)), 0)
            first = next(((at, when) for when, at in times if when >= asked), (-1, -1))
            wire.list_offsets(*place, at=asked).must_name(offset=first[0], timestamp=first[1])

    @breaks("adm-011")
    def trim(self, place):
        """The oldest records are deleted, up to the middle of a batch where it comes so."""
        self.must_end(place)
        log = self.logs[place]
        log.start = self.rng.randint(log.start, log.end)
        self.wire.delete_records(*place, offset=log.start).must_succeed()


def _only(values):
    return values.pop() if len(values) == 1 else None


def _short(what):
    text = repr(what)
    return text if len(text) < 200 else f"{text[:200]}... ({len(text)} characters)"

"""Logs that drawn steps write, and the small exact model of what each holds and where it begins, ends and is stable.

Shared by the cases that read such logs in drawn ways (fetch/, offsets/): what is written here is all that there is.
"""

from dataclasses import replace
from typing import Any

from brokertrial.suites.probe import batch
from brokertrial.suites.probe.failures import breaks
from brokertrial.wire.records import Record

CODECS = ("none", "gzip", "snappy", "lz4")
REWRITTEN = ("gzip", "snappy", "lz4", "zstd", "uncompressed")
HOUR_MS = 3_600_000
SMALL = {"segment.ms": "60000", "index.interval.bytes": "1", "segment.index.bytes": "36"}
"""A segment ends when a record is a minute younger than its first one, or when its indexes are full."""
WITHIN_S = 10
OTHER_CODEC = "a batch is stored in another codec than compression.type of its topic says"
"""That is a should (prod-012), and nothing that these cases are about."""
STEPS = (*["plain"] * 4, *["send"] * 6, "commit", "abort", "cut")


class Held:
    """A batch as it was sent: `marker` is the end of a transaction, `producer` the id, -1 without one."""

    def __init__(self, base, records, *, producer=-1, marker="", codec="none"):
        self.base, self.records, self.producer, self.marker, self.codec = base, records, producer, marker, codec
        self.last = base + max(len(records), 1) - 1
        self.bytes, self.epoch, self.time = b"", -1, -1
        """As a full read showed it first."""

    def times(self):
        """(offset, time) of each of its records; a marker has the time that the broker gave it."""
        return [(record.offset, record.timestamp) for record in self.records] or [(self.base, self.time)]


class Log:
    """A partition as it must be; its topic may have a codec (`rewritten`) or times of the broker's (`stamped`)."""

    def __init__(self, place, *, rewritten="", stamped=False, codecs=CODECS):
        self.place, self.rewritten, self.stamped, self.codecs = place, rewritten, stamped, codecs
        self.start = self.end = self.read = 0
        self.batches = []
        self.open = {}
        """Producer id -> where its open transaction begins."""
        self.aborted = []
        """(producer id, first offset, offset of the marker), in the order in which they ended."""

    @property
    def stable(self):
        return min(self.open.values(), default=self.end)

    @property
    def zstd(self):
        """Whether versions from before this codec may be refused."""
        return "zstd" in (self.rewritten, *self.codecs) or any(held.codec == "zstd" for held in self.batches)

    def readable(self, committed):
        return self.stable if committed else self.end

    def records(self):
        """What can still be read, markers left out."""
        return [record for held in self.batches for record in held.records if record.offset >= self.start]

    def epochs(self, now):
        """(leader epoch, where it began) of those that have written what is left, and of the present one."""
        began = {now: self.end}
        for held in reversed(self.batches):
            if held.last >= self.start:
                began[held.epoch] = max(held.base, self.start)
        return sorted(began.items())

    def ended(self, asked, now):
        """The newest epoch up to the one asked for, none of those to come, and where the next one begins."""
        began = self.epochs(now)
        if asked == now:
            return now, self.end
        known = max((epoch for epoch, _ in began if epoch <= asked), default=asked)
        return known, min(start for epoch, start in began if epoch > asked)

    def take(self, held):
        self.batches.append(held)
        self.end = held.last + 1


class DrawnLogs:
    """Three logs of one leader, two transactional producers, and the steps that write to them."""

    def __init__(self, wire, topic_of, rng, *, times=(0, 0, 1, 500, 1_000), small=SMALL, **how):
        self.wire, self.rng, self.times, self.turn, self.cuts = wire, rng, times, 0, True
        self.began = wire.now_ms() - 20 * HOUR_MS
        codec = rng.choice(REWRITTEN)
        settings: tuple[dict[str, str], ...] = (
            {},
            {"compression.type": codec},
            {"message.timestamp.type": "LogAppendTime"},
        )
        made = [
            topic_of(what=what, partitions=len(wire.nodes), configs={**small, **more}, **how)
            for what, more in zip(("t", "r", "s"), settings, strict=True)
        ]
        self.node = wire.leader(made[0])
        kinds: tuple[dict[str, Any], ...] = ({}, {"rewritten": codec}, {"stamped": True, "codecs": (*CODECS, "zstd")})
        self.logs = [Log(self._led(topic), **kind) for topic, kind in zip(made, kinds, strict=True)]
        self.producers = [wire.producer(wire.name(f"x{number}"), timeout_ms=600_000) for number in range(2)]

    def _led(self, topic):
        """The partition of a topic that the node of the first one leads; each node leads one."""
        led = [
            partition
            for partition in self.wire.known_partitions(topic)
            if self.wire.leader(topic, partition) == self.node
        ]
        return (topic, min(led)) if led else self.wire.unclear("no node leads a partition of each topic")

    def asked_between(self, ask, questions):
        """Three times 20 drawn steps and `ask(self, questions)`; half as many when both transactions have ended."""
        for _ in range(3):
            self.write(20)
            self.must_have_been_busy()
            ask(self, questions)
        for number in (0, 1):
            self.finish(number, number == 0)
        ask(self, questions // 2)

    def write(self, steps):
        """So many drawn steps; each is acknowledged before the next.

        The start stays below what is open: where it does not, Apache Kafka has a stable offset below it.
        """
        for _ in range(steps):
            self.turn += 1
            log, number, step = self.rng.choice(self.logs), self.rng.randrange(2), self.rng.choice(STEPS)
            if step == "plain":
                self._plain(log)
            elif step == "send":
                self._sent(log, self.producers[number])
            elif step in ("commit", "abort"):
                self.finish(number, step == "commit")
            elif log.stable > log.start and self.cuts:
                self._cut(log)

    def _cut(self, log):
        """The log start moves; first all is read, for the time of a marker is the broker's and deleted records still
        count.

        Apache Kafka returns it as the newest, and looks for a time where it lies (UnifiedLog.searchOffsetInLocalLog).
        """
        learn(self.wire, log)
        log.start = self.rng.randint(log.start, log.stable)
        self.wire.delete_records(*log.place, offset=log.start).must_succeed()

    def must_have_been_busy(self):
        """Whatever was drawn: in the first log an aborted transaction over several segments, then an open one."""
        first, second = self.producers
        self.finish(1, self.rng.random() < 0.5)
        for _ in range(4):
            self.turn += 1
            self._sent(self.logs[0], first)
            self._plain(self.logs[0])
        self.finish(0, False)
        self._sent(self.logs[0], second)
        self._plain(self.logs[0])

    @breaks("prod-002", "prod-018")
    def come_back(self, act):
        """The node is stopped or killed, and starts again: all that was acknowledged is there, and what is open is."""
        act(self.node)
        for log in self.logs:
            self.wire.await_topic(log.place[0])
        self._await_ends(self.logs)

    @breaks("offs-001", "txn-004")
    def finish(self, number, commit):
        """The transaction of a producer ends, if it has one; each of its partitions gets one marker."""
        producer = self.producers[number]
        mine = [log for log in self.logs if producer.id in log.open]
        if not mine:
            return
        who = producer.id
        (producer.commit() if commit else producer.abort()).must_succeed()
        for log in mine:
            first = log.open.pop(who)
            if not commit:
                log.aborted.append((who, first, log.end))
            log.take(Held(log.end, [], producer=who, marker="COMMIT" if commit else "ABORT"))
        self._await_ends(mine)

    def _await_ends(self, logs):
        for log in logs:
            self.wire.eventually(
                lambda log=log: self.wire.list_offsets(*log.place).must_name(offset=log.end), within=WITHIN_S
            )
            self.wire.await_stable_end(*log.place, offset=log.stable, within=WITHIN_S)

    def _plain(self, log):
        records, codec = self._drawn(log), self.rng.choice(log.codecs)
        sent = self.wire.produce(log.place[0], batch(records=records, compression=codec), log.place[1])
        self._taken(log, sent, records, codec, -1)

    def _sent(self, log, producer):
        records, codec = self._drawn(log), self.rng.choice(log.codecs)
        log.open.setdefault(producer.id, log.end)
        sent = producer.send(log.place[0], partition=log.place[1], records=records, compression=codec)
        self._taken(log, sent, records, codec, producer.id)

    @breaks("prod-001")
    def _taken(self, log, sent, records, codec, producer):
        sent.must_be_at(log.end)
        stored = {"": codec, "uncompressed": "none"}.get(log.rewritten, log.rewritten)
        dated = [
            replace(record, offset=log.end + at, timestamp=sent.log_append_time if log.stamped else record.timestamp)
            for at, record in enumerate(records)
        ]
        log.take(Held(log.end, dated, producer=producer, codec=stored))

    def _drawn(self, log):
        """One to four records: some equal in time, some out of order, and every fourth step in another hour."""
        rng = self.rng
        hour = self.began + (self.turn // 4 - rng.choice((0, 0, 0, 1))) * HOUR_MS
        return [
            Record(
                key=rng.choice((None, b"", b"k%d" % self.turn)),
                value=rng.choice((None, b"", rng.randbytes(rng.choice((1, 20, 300))), b"v" * rng.randint(1, 200))),
                headers=tuple(
                    (rng.choice(("h", "", "ü")), rng.choice((None, b"", b"x"))) for _ in range(rng.choice((0, 1, 2)))
                ),
                timestamp=hour + rng.choice(self.times),
            )
            for _ in range(rng.randint(1, 4))
        ]


@breaks("fetch-002")
def learn(wire, log):
    """Reads what is new, which must be what was sent; from then on these bytes are what every answer is held to."""
    read = wire.read_all(*log.place, offset=max(log.start, log.read))
    found = {part.header.base_offset: part for part in read.batches}
    due = [held for held in log.batches if held.last >= max(log.start, log.read)]
    bases = [held.base for held in due]
    read.must(sorted(found) == bases, f"its batches begin at {sorted(found)}; they must at {bases}")
    for held in due:
        _must_be(wire, read, found[held.base], held, log)
        if not held.bytes:
            header = found[held.base].header
            held.bytes, held.epoch, held.time = bytes(found[held.base].bytes), header.leader_epoch, header.max_timestamp
    log.read = log.end


@breaks("rec-001", "rec-002")
def _must_be(wire, read, part, held, log):
    header, where = part.header, f"the batch at {held.base}"
    read.must(part.crc_ok(), f"{where} does not fit its checksum")
    if held.marker:
        kind = part.marker().kind if header.is_control else "no marker"
        ended, due = (kind, header.producer_id), (held.marker, held.producer)
        with breaks("txn-006"):
            read.must(ended == due, f"{where} is {ended}; it must be {due}")
        return
    found = (header.producer_id, header.is_transactional, header.timestamp_type)
    wanted = (held.producer, held.producer >= 0, "append" if log.stamped else "create")
    read.must(found == wanted, f"{where} has producer, transactional and kind of time {found}; they are {wanted}")
    if header.compression != held.codec:
        held.codec = header.compression
        if OTHER_CODEC not in wire.noted:
            wire.noted.append(OTHER_CODEC)
    records = list(part.records())
    read.must(records == held.records, f"{where} holds {records}; it must hold {held.records}")

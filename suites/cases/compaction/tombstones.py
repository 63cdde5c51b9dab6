"""Tombstones at drawn places of their batches: they stay as long as they must, and then they go (KIP-534)."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, WITHIN_S, cleanable, cleaned, facts
from brokertrial.suites.probe import batch
from brokertrial.wire.records import Record

DAY_MS, MINUTE_MS = 24 * HOUR_MS, 60_000
CODECS = ("none", "gzip", "lz4")
BATCHES = 6
SHORT_MS = 8_000


@case(
    "compaction/tombstones-wherever-they-lie",
    guarantees=["comp-003", "comp-001", "comp-002"],
    needs=["topic-settings", "compaction"],
    detects=["L09", "L10"],
)
def a_tombstone_goes_from_wherever_it_lies(wire, topic_of, rng):
    """A tombstone MUST take the older values of its key away, MUST stay for delete.retention.ms, and MUST then go, from
    whichever place in its batch and though the cleaner comes by again and again; an empty value is none, and stays.

    The same drawn batches, of one to five records, some with null and some with empty values, are written to three
    topics, which keep tombstones for no time, for eight seconds and for a day; two batches hold tombstones amid keys
    that nothing overwrites. New records bring the cleaner about.
    """
    keeps = {"never": 0, "short": SHORT_MS, "long": DAY_MS}
    logs = [Tombstones(wire, cleanable(wire, _named(topic_of, what), **_kept(ms)), ms) for what, ms in keeps.items()]
    began = wire.now_ms() - 20 * HOUR_MS
    values: list[bytes | None] = [None, None, b"", b"value"]
    for number in range(BATCHES):
        keys = rng.sample([b"k%d" % n for n in range(8)], rng.randint(1, 5))
        records = [Record(key, rng.choice(values), (), began + at) for at, key in enumerate(keys, 10 * number)]
        codec, began = rng.choice(CODECS), began + 2 * MINUTE_MS
        for log in logs:
            log.write(records, codec)
    for names, value in (("abc", b""), ("defg", b"v")):
        dead = rng.sample(names[1:], len(names) - 2)  # never the first, and never all
        alive = [None if name in dead else value for name in names]
        records = [
            Record(name.encode(), each, (), began + at)
            for at, (name, each) in enumerate(zip(names, alive, strict=True))
        ]
        began += 2 * MINUTE_MS
        for log in logs:
            log.write(records, rng.choice(CODECS))
    for number in range(1, 600):
        tick = Record(b"tick", b"%d" % number, (), began + 2 * number * MINUTE_MS)
        for log in logs:
            log.write([tick], "none")
        looks = [log.look() for log in logs]
        if not any(looks):
            return
        if wire.now_ms() > logs[0].began + 1_000 * (WITHIN_S + wire.slack_s):
            break
        wire.fetch(logs[0].topic, offset=wire.log_end(logs[0].topic), max_wait_ms=500, min_bytes=1)
    for log in logs:
        log.must_have_let_go()


def _named(topic_of, what):
    return lambda **how: topic_of(what=what, **how)


def _kept(ms):
    return {"delete.retention.ms": str(ms)}


class Tombstones:
    """One topic: what was written, and how long its tombstones stay."""

    def __init__(self, wire, topic, stay_ms):
        self.wire, self.topic, self.stay_ms = wire, topic, stay_ms
        self.written, self.latest = [], {}
        self.began = wire.now_ms()
        self.cleaned = False

    def write(self, records, codec):
        self.wire.produce(self.topic, batch(records=records, compression=codec)).must_be_at(len(self.written))
        for record in records:
            self.latest[record.key] = len(self.written)
            self.written.append(record)

    def look(self):
        """What has still to go: superseded records, and tombstones whose time is over. None that must stay is gone."""
        read = self.wire.read_all(self.topic)
        early = self.wire.now_ms() < self.began + self.stay_ms
        stays = {
            offset
            for offset in self.latest.values()
            if self.written[offset].value is not None or early or self.stay_ms == DAY_MS
        }
        missing = sorted(stays - set(read.offsets))
        read.must(not missing, f"the offsets {missing} are gone; they are the latest of their keys")
        for record in read.records:
            found, was = facts(record), facts(self.written[record.offset])
            read.must(found == was, f"offset {record.offset} holds {found}; it was {was}")
        ticks = {offset for offset, record in enumerate(self.written) if record.key == b"tick"}
        self.over = sorted(set(read.offsets) - set(self.latest.values()) - ticks)
        self.dead = [at for at in read.offsets if self.written[at].value is None and at not in self.over]
        self.cleaned = self.cleaned or not self.over
        return self.over or (self.stay_ms < DAY_MS and self.dead)

    def must_have_let_go(self):
        if not self.cleaned:
            never = f"not all was cleaned within {WITHIN_S} s; compaction/cleaned-at-all decides whether that counts"
            self.wire.not_applicable(never, "too-slow-here")
        said = f"the tombstones at {self.dead} are still there {WITHIN_S} s later; they had to stay {self.stay_ms} ms"
        self.wire.read_all(self.topic).must(self.stay_ms == DAY_MS or not self.dead, said)


@case(
    "compaction/tombstones-beside-one-that-goes",
    guarantees=["comp-003", "comp-006", "comp-001"],
    needs=["topic-settings", "compaction"],
    detects=["J03"],
)
def a_tombstone_stays_though_others_of_its_batch_go(wire, topic_of, rng):
    """A tombstone MUST stay for delete.retention.ms, as it was, also where the cleaner has written its batch anew in
    the meantime, since other keys of that batch have new values.

    A batch of two to five tombstones that are kept for a day; one or more of the keys, but not all, get a new value
    once the cleaner has been there; then it comes by three times more.
    """
    topic = cleanable(wire, topic_of, **_kept(DAY_MS))
    keys = [b"k%d" % number for number in range(rng.randint(2, 5))]
    again = rng.sample(keys, rng.randint(1, len(keys) - 1))
    began, codec = wire.now_ms() - 20 * HOUR_MS, rng.choice(CODECS)

    def put(hours, *records):
        rows = [Record(key, value, (), began + hours * HOUR_MS + at) for at, (key, value) in enumerate(records)]
        wire.produce(topic, batch(records=rows, compression=codec)).must_succeed()
        return rows

    put(0, *((key, b"alive") for key in keys))
    dead = put(1, *((key, None) for key in keys))
    put(2, (b"end", b"0"))
    cleaned(wire, topic, keys[0])
    put(3, *((key, b"alive again") for key in again))
    put(4, (b"end", b"1"))
    cleaned(wire, topic, again[0])
    stay = {facts(row) for row in dead if row.key not in again}
    for turn in range(3):
        put(5 + 2 * turn, (b"tick", b"%d" % turn))
        put(6 + 2 * turn, (b"end", b"%d" % turn))
        log = cleaned(wire, topic, b"tick")
        found = {facts(record) for record in log.records if record.value is None}
        gone = sorted(key for key, *_ in stay - found)
        log.must(not gone, f"the tombstones of {gone} are gone, or are not as they were; they must stay for a day")
        log.must(found <= stay, f"the tombstones are {sorted(found)}; they must be {sorted(stay)}")

"""Compaction of batches whose keys are drawn: what is left, where a reader comes to it, and that it stays."""

from brokertrial.suites.case import case
from brokertrial.suites.cases.compaction.survivors import HOUR_MS, WITHIN_S, cleanable, facts
from brokertrial.suites.probe import batch
from brokertrial.wire.records import Record

DAY_MS = 24 * HOUR_MS
KEYS = [b"", b"\0", b"k", b"k0", b"K0", b"k0\0", b"k" * 300, "\u043a".encode()]
"""An empty key is a key; one that begins like another is another."""
BATCHES = 8


@case(
    "compaction/whatever-is-written",
    guarantees=["comp-001", "comp-002", "comp-003", "comp-006", "fetch-013", "offs-002"],
    needs=["topic-settings", "compaction"],
    detects=["U01", "U02", "E03"],
)
def what_is_left_is_found_from_every_offset(wire, topic_of, rng):
    """Whatever keys were written in whatever batches, the latest record of each MUST be kept unchanged, tombstones too
    while delete.retention.ms lasts, and a reader from any offset, or by any time, MUST get the next record that is
    left.

    Batches of one to five records of eight keys, one of them empty, some values null, dated ten days ago, where
    tombstones may stay for a day from when they are cleaned first (KIP-534). Cleaned, half of the keys written again,
    and cleaned again.
    """
    topic = cleanable(wire, topic_of, **{"delete.retention.ms": str(DAY_MS)})
    time = wire.now_ms() - 10 * DAY_MS
    written: list[Record] = []
    for turn, keys in enumerate((KEYS, KEYS[:4])):
        made = [[rng.choice(keys) for _ in range(rng.randint(1, 5))] for _ in range(BATCHES)]
        if not turn:
            made[1].append(b"gone")
            made.insert(3, [rng.choice(keys), b"gone", *made.pop(3)])
        for number, chosen in enumerate(made):
            time += HOUR_MS
            records = [_record(rng, key, at, time, number > 2) for at, key in enumerate(chosen)]
            _written(wire, topic, written, records, rng.choice(("none", "gzip", "lz4")))
        time += HOUR_MS
        _written(wire, topic, written, [Record(b"end", b"%d" % turn, (), time)], "none")
        _must_be_left(wire, topic, written)


def _record(rng, key, at, time, may_be_null):
    value = None if may_be_null and (key == b"gone" or rng.random() < 0.2) else rng.randbytes(rng.randint(1, 40))
    return Record(key, value, (("h", b"%d" % at),), time + at)


def _written(wire, topic, written, records, codec):
    wire.produce(topic, batch(records=records, compression=codec)).must_be_at(len(written))
    written.extend(records)


def _must_be_left(wire, topic, written):
    """The latest of each key, once no key has two; the newest segment, which holds one record, is not cleaned."""
    left = _cleaned(wire, topic, len(written) - 1)
    latest = {record.key: offset for offset, record in enumerate(written[:-1])}
    kept = sorted([*latest.values(), len(written) - 1])
    left.must(left.offsets == kept, f"the offsets {left.offsets} are left; the latest of their keys are {kept}")
    for record in left.records:
        found, was = facts(record), facts(written[record.offset])
        left.must(found == was, f"offset {record.offset} holds {found}; it was {was}")
    for at in range(len(written)):
        due = [offset for offset in kept if offset >= at]
        wire.read_all(topic, offset=at).must_have_offsets(due)
        next_one = next(offset for offset in kept if written[offset].timestamp >= written[at].timestamp)
        wire.list_offsets(topic, at=written[at].timestamp).must_name(offset=next_one)


def _cleaned(wire, topic, dirty_below):
    began = wire.now_ms()
    while wire.now_ms() < began + 1_000 * (WITHIN_S + wire.slack_s):
        log = wire.read_all(topic)
        keys = [record.key for record in log.records if record.offset < dirty_below]
        if len(keys) == len(set(keys)):
            return log
        wire.fetch(topic, offset=wire.log_end(topic), max_wait_ms=500, min_bytes=1)
    never = f"not all was cleaned within {WITHIN_S} s; compaction/cleaned-at-all decides whether that is a failure"
    return wire.not_applicable(never, "too-slow-here")

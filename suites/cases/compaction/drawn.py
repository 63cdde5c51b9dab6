"""Compaction of batches whose keys are drawn: what is left, where a reader comes to it, and that it stays."""

from typing import Any

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
    """Whatever keys were written in whatever batches, the latest record of each MUST be left as it was, tombstones too
    while delete.retention.ms lasts, and a reader from any offset, or by any time, MUST come to the next one that is.

    Batches of one to five records of eight keys, one of them empty, some values null, dated ten days ago, where
    tombstones may stay for a day from when they are cleaned first (KIP-534); some batches are of idempotent producers.
    What is left of a batch keeps its last offset, epoch, producer, sequence and codec. Cleaned, half of the keys
    written again, and cleaned again.
    """
    topic = cleanable(wire, topic_of, **{"delete.retention.ms": str(DAY_MS)})
    time = wire.now_ms() - 10 * DAY_MS
    written: list[Record] = []
    headers: dict[int, Any] = {}
    for turn, keys in enumerate((KEYS, KEYS[:4])):
        made = [[rng.choice(keys) for _ in range(rng.randint(1, 5))] for _ in range(BATCHES)]
        if not turn:
            made[1].append(b"gone")
            made.insert(3, [rng.choice(keys), b"gone", *made.pop(3)])
        for number, chosen in enumerate(made):
            time += HOUR_MS
            records = [_record(rng, key, at, time, number > 2) for at, key in enumerate(chosen)]
            sent = {"records": records, "compression": rng.choice(("none", "gzip", "lz4"))}
            made_by = wire.producer().batch(sequence=rng.randint(0, 9), **sent) if rng.random() < 0.5 else batch(**sent)
            _written(wire, topic, written, records, made_by, headers)
        time += HOUR_MS
        end = [Record(b"end", b"%d" % turn, (), time)]
        _written(wire, topic, written, end, batch(records=end), headers)
        _must_be_left(wire, topic, written, headers)


def _record(rng, key, at, time, may_be_null):
    value = None if may_be_null and (key == b"gone" or rng.random() < 0.2) else rng.randbytes(rng.randint(1, 40))
    return Record(key, value, (("h", b"%d" % at),), time + at)


def _written(wire, topic, written, records, made, headers):
    """What is written to is never cleaned: so its header is read as it was first."""
    wire.produce(topic, made).must_be_at(len(written))
    headers[len(written)] = wire.fetch(topic, offset=len(written)).batches[0].header
    written.extend(records)


def _must_be_as_it_was(left, part, headers):
    """A batch keeps all that names it, though records of it are gone; its newest time is that of those that are left.

    What is left of a tombstone may be dated where its first time was (KIP-534).
    """
    header, was = part.header, headers.get(part.header.base_offset)
    left.must(was is not None, f"a batch begins at {header.base_offset} after cleaning; none did before")
    told, wanted = _names(header), _names(was)
    if not header.record_count:
        del told["codec"], wanted["codec"]
    left.must(told == wanted, f"the batch at {header.base_offset} is {told} after cleaning; it was {wanted}")
    left.must(part.crc_ok(), f"the batch at {header.base_offset} does not fit its checksum after cleaning")
    if header.record_count:
        newest = max(record.timestamp for record in part.records())
        said = f"the newest time of the batch at {header.base_offset} is {header.max_timestamp}; it must be {newest}"
        left.must(header.max_timestamp == newest, said)


def _names(header):
    return {
        "last offset": header.last_offset,
        "leader epoch": header.leader_epoch,
        "producer": (header.producer_id, header.producer_epoch, header.base_sequence),
        "codec": header.compression,
        "kind of time": header.timestamp_type,
        "transactional": header.is_transactional,
    }


def _must_be_left(wire, topic, written, headers):
    """The latest of each key, once no key has two; the newest segment, which holds one record, is not cleaned."""
    left = _cleaned(wire, topic, len(written) - 1)
    latest = {record.key: offset for offset, record in enumerate(written[:-1])}
    kept = sorted([*latest.values(), len(written) - 1])
    left.must(left.offsets == kept, f"the offsets {left.offsets} are left; the latest of their keys are {kept}")
    for part in left.batches:
        _must_be_as_it_was(left, part, headers)
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

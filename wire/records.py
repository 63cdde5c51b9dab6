"""Record batches: built, read, patched. Version 2, and reading of the message sets before it (`wire.old_records`).

    61 bytes of header:  base offset, length, leader epoch, magic, CRC-32C, attributes, last offset delta, base and
                         maximum timestamp, producer id and epoch, base sequence, number of records
    then the records, compressed as a whole or not

The CRC covers everything from the attributes on: base offset and leader epoch can be patched without touching it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct as Format
from typing import Any

from brokertrial.wire import compression as codecs
from brokertrial.wire import old_records
from brokertrial.wire.batch_header import HEADER, HEADER_SIZE, MAGIC_AT, BatchHeader, RecordsMalformed
from brokertrial.wire.crc32c import crc32c
from brokertrial.wire.record import NO_TIMESTAMP, Record, read_records, write_records

__all__ = [
    "HEADER_SIZE",
    "NO_TIMESTAMP",
    "Batch",
    "BatchHeader",
    "Marker",
    "Record",
    "RecordsMalformed",
    "batches",
    "build_batch",
    "control_marker",
    "patch",
    "stamp",
    "write_records",
]

LIMIT_BYTES = 64 * 1024 * 1024
CRC_AT, CRC_FROM, LENGTH_OVERHEAD = 17, 21, 12
LEAST_RECORD = 7
MARKERS = {0: "ABORT", 1: "COMMIT"}
MARKER_TYPES = {name: number for number, name in MARKERS.items()}
_UINT32, _OFFSET, _EPOCH = Format(">I"), Format(">q"), Format(">i")
_MARKER_KEY, _MARKER_VALUE = Format(">hh"), Format(">hi")


@dataclass(frozen=True, slots=True)
class Marker:
    """What a control record says: COMMIT, ABORT, or the number of another kind."""

    kind: str
    coordinator_epoch: int | None


class Batch:
    """One batch as it lies in a buffer: the header is read, the records only on request."""

    __slots__ = ("bytes", "header")

    def __init__(self, header: BatchHeader, view: memoryview) -> None:
        self.header = header
        self.bytes = view

    def __repr__(self) -> str:
        return f"Batch({self.header!r})"

    def crc_ok(self) -> bool:
        if self.header.magic < 2:
            return old_records.crc_ok(self.bytes)
        return int(crc32c(self.bytes[CRC_FROM:])) == self.header.crc

    def records(self, limit_bytes: int = LIMIT_BYTES) -> Iterator[Record]:
        """The records in order; RecordsMalformed when they are wrong, or would decompress to more than the limit."""
        header = self.header
        if header.magic < 2:
            yield from old_records.records(header, self.bytes, limit_bytes)
            return
        try:
            payload = codecs.decompress(header.codec, self.bytes[HEADER_SIZE:], limit_bytes)
        except codecs.DecompressionFailed as wrong:
            raise RecordsMalformed(header.magic, HEADER_SIZE, str(wrong)) from None
        if not 0 <= header.record_count * LEAST_RECORD <= len(payload):
            message = f"{header.record_count} records announced in {len(payload)} bytes"
            raise RecordsMalformed(header.magic, HEADER_SIZE, message)
        yield from read_records(payload, header)

    def marker(self) -> Marker:
        """What this control batch says."""
        found = list(self.records())
        if not self.header.is_control or len(found) != 1 or len(found[0].key or b"") < _MARKER_KEY.size:
            raise RecordsMalformed(self.header.magic, HEADER_SIZE, "not a control batch with one control record")
        _, number = _MARKER_KEY.unpack_from(found[0].key or b"")
        value = found[0].value
        ends = number in MARKERS and value is not None and len(value) >= _MARKER_VALUE.size
        return Marker(MARKERS.get(number, str(number)), _MARKER_VALUE.unpack_from(value or b"")[1] if ends else None)


def batches(buffer: Any, *, cut_allowed: bool = True) -> Iterator[Batch]:
    """The batches that lie one after the other; a last one that is cut off ends them, unless that is not allowed.

    Entries of the old formats come as one Batch each, compressed or not.
    """
    view, pos = memoryview(buffer), 0
    while pos < len(view):
        left = len(view) - pos
        length = _EPOCH.unpack_from(view, pos + 8)[0] if left > MAGIC_AT else 0
        if left <= MAGIC_AT or length + LENGTH_OVERHEAD > left:
            if cut_allowed:
                return
            raise RecordsMalformed(-1, pos, f"the last batch is cut off: {left} bytes are left of it")
        magic = view[pos + MAGIC_AT]
        least = HEADER_SIZE if magic >= 2 else old_records.LEAST[magic]
        if length + LENGTH_OVERHEAD < least:
            raise RecordsMalformed(magic, pos, f"{length + LENGTH_OVERHEAD} bytes are too few for a batch")
        if magic > 2:
            raise RecordsMalformed(magic, pos, f"magic {magic} does not exist")
        one = view[pos : pos + length + LENGTH_OVERHEAD]
        header = BatchHeader(*HEADER.unpack_from(one)) if magic == 2 else old_records.header(one)
        yield Batch(header, one)
        pos += len(one)


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    compression: str = "none",
    timestamp_type: str = "create",
    offset_deltas: Sequence[int] | None = None,
    payload: bytes | None = None,
    **wrong: int,
) -> bytes:
    """One batch of version 2. Offsets count up from the base unless deltas are given, whatever the records say.

    `compression` also knows "snappy-raw"; `timestamp_type` is "create" or "append". `payload` replaces the bytes after
    the header. For deliberately wrong batches any field of the header can be stated by name (`crc=0`, `magic=3`,
    `record_count=-1`, `batch_length=...`); the CRC is that of the bytes as they are unless stated.
    """
    given = list(records)
    deltas = range(len(given)) if offset_deltas is None else offset_deltas
    base_timestamp = wrong.get("base_timestamp", given[0].timestamp if given else NO_TIMESTAMP)
    body = write_records(given, deltas, base_timestamp) if payload is None else payload
    codec, body = _compressed(compression, body) if payload is None else (_codec(compression), body)
    fields: dict[str, int] = {
        "base_offset": base_offset,
        "batch_length": HEADER_SIZE + len(body) - LENGTH_OVERHEAD,
        "leader_epoch": leader_epoch,
        "magic": 2,
        "crc": 0,
        "attributes": codec | (timestamp_type == "append") << 3 | transactional << 4 | control << 5,
        "last_offset_delta": deltas[-1] if given else -1,
        "base_timestamp": base_timestamp,
        "max_timestamp": max((record.timestamp for record in given), default=NO_TIMESTAMP),
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "base_sequence": base_sequence,
        "record_count": len(given),
    }
    if unknown := wrong.keys() - fields.keys():
        raise TypeError(f"a batch has no {', '.join(sorted(unknown))}")
    batch = HEADER.pack(*(fields | wrong).values()) + body
    return batch if "crc" in wrong else _with_crc(batch)


def _codec(name: str) -> int:
    return codecs.SNAPPY if name == "snappy-raw" else codecs.CODECS[name]


def _compressed(name: str, body: bytes) -> tuple[int, bytes]:
    if name == "snappy-raw":
        return codecs.SNAPPY, codecs.snappy_raw(body)
    return _codec(name), codecs.compress(_codec(name), body)


def _with_crc(batch: bytes) -> bytes:
    crc = crc32c(memoryview(batch)[CRC_FROM:])
    return b"".join([batch[:CRC_AT], _UINT32.pack(crc), batch[CRC_FROM:]])


def control_marker(
    kind: str,
    producer_id: int,
    epoch: int,
    coordinator_epoch: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    timestamp: int = 0,
) -> bytes:
    """The batch that ends a transaction in one partition: `kind` is COMMIT or ABORT."""
    key, value = _MARKER_KEY.pack(0, MARKER_TYPES[kind]), _MARKER_VALUE.pack(0, coordinator_epoch)
    return build_batch(
        [Record(key, value, timestamp=timestamp)],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=epoch,
        transactional=True,
        control=True,
    )


def patch(batch: Any, base_offset: int, leader_epoch: int) -> bytes:
    """The batch as a broker stores it: with its offset and leader epoch, the CRC unchanged."""
    view = memoryview(batch)
    return b"".join([_OFFSET.pack(base_offset), view[8:12], _EPOCH.pack(leader_epoch), view[16:]])


def stamp(batch: Any, timestamp: int) -> bytes:
    """The batch with the broker's own time for all its records (LogAppendTime); the CRC is computed again."""
    view = memoryview(batch)
    attributes = (int.from_bytes(view[21:23], "big") | 1 << 3).to_bytes(2, "big")
    return _with_crc(b"".join([view[:21], attributes, view[23:35], _OFFSET.pack(timestamp), view[43:]]))

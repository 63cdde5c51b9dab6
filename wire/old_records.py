"""Message sets of magic 0 and 1, as brokers before 0.11 wrote them: only read, never written.

    offset int64, size int32, CRC-32 uint32, magic int8, attributes int8, timestamp int64 (magic 1), key, value

A compressed entry holds a message set in its value. Its offset is that of the last message inside; the inner offsets
are absolute in magic 0 and relative in magic 1.
"""

from collections.abc import Iterator
from struct import Struct as Format
from struct import error as StructError
from zlib import crc32

from brokertrial.wire import compression
from brokertrial.wire.batch_header import BatchHeader, RecordsMalformed
from brokertrial.wire.record import NO_TIMESTAMP, Record

LEAST = {0: 26, 1: 34}
_HEAD = Format(">qiIbb")
_INT64, _INT32 = Format(">q"), Format(">i")
CRC_FROM = 16


def crc_ok(entry: memoryview) -> bool:
    return crc32(entry[CRC_FROM:]) == int.from_bytes(entry[12:16], "big")


def header(entry: memoryview) -> BatchHeader:
    """The entry's fields in the names of a batch header; a compressed entry counts as one record until it is read."""
    offset, size, crc, magic, attributes = _HEAD.unpack_from(entry)
    timestamp = _INT64.unpack_from(entry, 18)[0] if magic == 1 else NO_TIMESTAMP
    return BatchHeader(offset, size, -1, magic, crc, attributes, 0, timestamp, timestamp, -1, -1, -1, 1)


def records(head: BatchHeader, entry: memoryview, limit_bytes: int) -> Iterator[Record]:
    """The record of an entry, or those inside it."""
    key, value = _key_and_value(head, entry)
    if not head.codec:
        yield Record(key, value, (), head.base_timestamp, head.base_offset)
        return
    try:
        inner = memoryview(compression.decompress(head.codec, _repaired(head, value or b""), limit_bytes))
    except compression.DecompressionFailed as wrong:
        raise RecordsMalformed(head.magic, 0, str(wrong)) from None
    found = list(_entries(head, inner))
    shift = head.base_offset - found[-1][0].base_offset if head.magic == 1 and found else 0
    for one, body in found:
        key, value = _key_and_value(one, body)
        timestamp = head.base_timestamp if head.timestamp_type == "append" else one.base_timestamp
        yield Record(key, value, (), timestamp, one.base_offset + shift)


def _entries(outer: BatchHeader, inner: memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    pos = 0
    while pos < len(inner):
        left = len(inner) - pos
        size = _INT32.unpack_from(inner, pos + 8)[0] + 12 if left >= LEAST[0] else left + 1
        if size > left:
            raise RecordsMalformed(outer.magic, pos, "the bytes end inside an inner message")
        magic = inner[pos + 16]
        if magic not in LEAST or size < LEAST[magic]:
            raise RecordsMalformed(outer.magic, pos, f"an inner message of magic {magic} and {size} bytes")
        one = header(inner[pos : pos + size])
        if one.codec:
            raise RecordsMalformed(outer.magic, pos, "a compressed message inside a compressed message")
        yield one, inner[pos : pos + size]
        pos += size


def _key_and_value(head: BatchHeader, entry: memoryview) -> tuple[bytes | None, bytes | None]:
    pos = 26 if head.magic == 1 else 18
    try:
        key, pos = _bytes(entry, pos, head)
        value, pos = _bytes(entry, pos, head)
    except StructError:
        raise RecordsMalformed(head.magic, pos, "the bytes end inside a message") from None
    if pos != len(entry):
        raise RecordsMalformed(head.magic, pos, f"{len(entry) - pos} bytes left over behind the value")
    return key, value


def _bytes(entry: memoryview, pos: int, head: BatchHeader) -> tuple[bytes | None, int]:
    size = _INT32.unpack_from(entry, pos)[0]
    pos += 4
    if size == -1:
        return None, pos
    if not 0 <= size <= len(entry) - pos:
        raise RecordsMalformed(head.magic, pos, f"{size} bytes announced, {len(entry) - pos} left")
    return bytes(entry[pos : pos + size]), pos + size


def _repaired(head: BatchHeader, value: bytes) -> bytes:
    """Magic 0 wrote a wrong checksum into LZ4 headers (KAFKA-3160); its frames always have the same flags."""
    lz4 = compression.LZ4_HEADER
    return lz4 + value[7:] if head.magic == 0 and head.codec == compression.LZ4 and value[:6] == lz4[:6] else value

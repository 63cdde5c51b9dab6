"""How planted bugs spoil a healthy read; none of it runs in a healthy broker."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log.batch import HEADER_SIZE, read_header
from brokertrial.wire import records
from brokertrial.wire.crc32c import crc32c


def read(data: bytes, offset: int, epoch: int, *, woken: bool) -> bytes:
    """What a consumer gets instead of what is stored."""
    if woken and bugs.on("M06"):
        return _emptied(data)
    if read_header(data).base_offset > offset and bugs.on("M37e"):
        return b""
    if read_header(data).base_offset < offset and bugs.on("M37b"):
        return data[read_header(data).size :]
    if read_header(data).base_offset % 2 and bugs.on("M31e"):
        return b""
    if bugs.on("M31f"):
        return data[:12] + struct.pack(">i", epoch) + data[16:]
    if bugs.on("M06b"):
        return _swapped(data)
    if bugs.on("M31b"):
        return _flipped(data)
    if bugs.on("M39d"):
        return _rewritten(data, lambda r: replace(r, value=r.value or b"", headers=tuple(reversed(r.headers))))
    if bugs.on("M39i"):
        return _rewritten(data, lambda r: replace(r, timestamp=r.timestamp // 1000 * 1000))
    return data


def _emptied(data: bytes) -> bytes:
    """The first batch as compaction would leave it with nothing in it: a consumer passes it by without a word."""
    header = read_header(data)
    batch = bytearray(data[:HEADER_SIZE])
    struct.pack_into(">i", batch, 8, HEADER_SIZE - 12)
    struct.pack_into(">h", batch, 21, header.attributes & ~0x07)
    struct.pack_into(">i", batch, 57, 0)
    return _sealed(batch) + data[header.size :]


def _swapped(data: bytes) -> bytes:
    """The second batch before the first, where the answer holds two."""
    size = read_header(data).size
    if len(data) < size + HEADER_SIZE or len(data) < (both := size + read_header(data[size:]).size):
        return data
    return data[size:both] + data[:size] + data[both:]


def _flipped(data: bytes) -> bytes:
    """One bit of the last byte of the first batch is another, under a checksum that holds."""
    header = read_header(data)
    batch = bytearray(data[: header.size])
    at = -2 if header.codec == 0 else -1
    batch[at] ^= 0x01
    return _sealed(batch) + data[header.size :]


def _rewritten(data: bytes, change: Callable[[records.Record], records.Record]) -> bytes:
    """The first batch with every record changed, as a broker stores it that takes records apart; others as they are."""
    header = read_header(data)
    if header.is_control:
        return data
    batch = records.build_batch(
        [change(record) for record in next(iter(records.batches(data))).records()],
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        timestamp_type=header.timestamp_type,
    )
    return batch + data[header.size :]


def _sealed(batch: bytearray) -> bytes:
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)


def without_the_first(data: bytes) -> bytes:
    """All but the first batch."""
    return data[read_header(data).size :]


def without_markers(data: bytes) -> bytes:
    """The batches that hold records of clients."""
    return b"".join(bytes(part.bytes) for part in records.batches(data) if not part.header.is_control)


def is_zstd(data: bytes) -> bool:
    """Whether the first batch is compressed with zstd."""
    return bool(data) and read_header(data).codec == 4

"""The 61 bytes in front of every record batch: all that the broker reads of most batches, and the two fields that it writes."""

from __future__ import annotations

import struct
from typing import NamedTuple

from wire.crc32c import crc32c

HEADER_SIZE = 61
OVERHEAD = 12  # base offset and length: what the length field does not count
NO_PRODUCER = -1

_HEADER = struct.Struct(">qiibIhiqqqhii")
_OFFSET_AND_SIZE = struct.Struct(">qi")
_MAX_SEQUENCE = 0x7FFFFFFF

_CODEC_MASK, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20


class Header(NamedTuple):
    """A v2 batch header, in wire order."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @property
    def size(self) -> int:
        return self.length + OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & _MAX_SEQUENCE

    @property
    def codec(self) -> int:
        return self.attributes & _CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)


def read_header(buffer: bytes | bytearray | memoryview, position: int = 0) -> Header:
    """Reads the header at a position; the caller has made sure that 61 bytes are there."""
    return Header._make(_HEADER.unpack_from(buffer, position))


def offset_and_size(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """The base offset and the whole size of the batch at a position."""
    base_offset, length = _OFFSET_AND_SIZE.unpack_from(buffer, position)
    return base_offset, length + OVERHEAD


def crc_matches(header: Header, batch: bytes | bytearray | memoryview) -> bool:
    """True when the stored checksum is the one of the bytes behind it."""
    return crc32c(memoryview(batch)[21 : header.size]) == header.crc


def place(batch: bytearray, base_offset: int, leader_epoch: int) -> None:
    """Writes the two fields that lie outside the checksum."""
    struct.pack_into(">q", batch, 0, base_offset)
    struct.pack_into(">i", batch, 12, leader_epoch)


def set_max_timestamp(batch: bytearray, max_timestamp: int, *, log_append_time: bool) -> None:
    """Writes the batch's largest timestamp and its kind, and makes the checksum true again."""
    attributes = struct.unpack_from(">h", batch, 21)[0]
    attributes = attributes | _LOG_APPEND_TIME if log_append_time else attributes & ~_LOG_APPEND_TIME
    struct.pack_into(">h", batch, 21, attributes)
    struct.pack_into(">q", batch, 35, max_timestamp)
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))


def marker_is_commit(batch: bytes | bytearray | memoryview) -> bool | None:
    """True for COMMIT, False for ABORT, None for any other control batch. Control records are never compressed and stand alone."""
    at = HEADER_SIZE
    at = _skip_varint(batch, at) + 1  # record length, attributes
    for _ in range(3):  # timestamp delta, offset delta, key length
        at = _skip_varint(batch, at)
    kind = struct.unpack_from(">h", batch, at + 2)[0]
    return {0: False, 1: True}.get(kind)


def marker_coordinator_epoch(batch: bytes | bytearray | memoryview) -> int:
    """The coordinator epoch inside a transaction marker's value."""
    at = HEADER_SIZE
    at = _skip_varint(batch, at) + 1
    for _ in range(3):
        at = _skip_varint(batch, at)
    at = _skip_varint(batch, at + 4)  # the key is four bytes, then the value's length
    return int(struct.unpack_from(">i", batch, at + 2)[0])


def _skip_varint(buffer: bytes | bytearray | memoryview, at: int) -> int:
    while buffer[at] & 0x80:
        at += 1
    return at + 1

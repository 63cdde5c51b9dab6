"""The 61 bytes in front of every record batch, and the fields of them that a broker writes."""

from __future__ import annotations

import struct

from brokertrial.wire.batch_header import HEADER, HEADER_SIZE
from brokertrial.wire.batch_header import BatchHeader as Header
from brokertrial.wire.crc32c import crc32c

__all__ = ["HEADER_SIZE", "OVERHEAD", "Header", "crc_matches", "offset_and_size", "place", "read_header"]

OVERHEAD = 12  # base offset and length: what the length field does not count

_OFFSET_AND_SIZE = struct.Struct(">qi")
_LOG_APPEND_TIME = 0x08


def read_header(buffer: bytes | bytearray | memoryview, position: int = 0) -> Header:
    """Reads the header at a position; the caller has made sure that 61 bytes are there."""
    return Header(*HEADER.unpack_from(buffer, position))


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

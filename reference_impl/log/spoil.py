"""How planted bugs spoil a healthy read; none of it runs in a healthy broker."""

from __future__ import annotations

import struct

from reference_impl import bugs
from reference_impl.log.batch import HEADER_SIZE, read_header
from wire.crc32c import crc32c


def read(data: bytes, offset: int, *, woken: bool) -> bytes:
    """What a consumer gets instead of what is stored."""
    if woken and bugs.on("M06"):
        return _emptied(data)
    if read_header(data).base_offset < offset and bugs.on("M37b"):
        return data[read_header(data).size :]
    if bugs.on("M31b"):
        return _flipped(data)
    return data


def _emptied(data: bytes) -> bytes:
    """The first batch as compaction would leave it with nothing in it: a consumer passes it by without a word."""
    header = read_header(data)
    batch = bytearray(data[:HEADER_SIZE])
    struct.pack_into(">i", batch, 8, HEADER_SIZE - 12)
    struct.pack_into(">h", batch, 21, header.attributes & ~0x07)
    struct.pack_into(">i", batch, 57, 0)
    return _sealed(batch) + data[header.size :]


def _flipped(data: bytes) -> bytes:
    """One bit of the last byte of the first batch is another, under a checksum that holds."""
    header = read_header(data)
    batch = bytearray(data[: header.size])
    at = -2 if header.codec == 0 else -1
    batch[at] ^= 0x01
    return _sealed(batch) + data[header.size :]


def _sealed(batch: bytearray) -> bytes:
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)

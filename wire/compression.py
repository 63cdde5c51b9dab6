"""The four compression codecs of record batches. Decompression stops at a limit that the caller gives.

Snappy is written in the framing of Java's library and read with or without it. LZ4 frames are written by hand: the
library links their blocks, which Kafka's own reader refuses.
"""

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import cramjam

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
NAMES = {number: name for name, number in CODECS.items()}

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = XERIAL_MAGIC + bytes.fromhex("0000000100000001")
XERIAL_BLOCK = 32 * 1024
LZ4_HEADER = bytes.fromhex("04224d18604082")  # independent blocks of at most 64 KiB, no checksums
LZ4_BLOCK = 64 * 1024
LZ4_STORED = 1 << 31
FIRST_GUESS = 64 * 1024
SNAPPY_MOST = 64  # no snappy element yields more than 64 bytes for one


class DecompressionFailed(Exception):
    """The bytes are not what the codec wrote, or there is more in them than the limit."""


def compress(codec: int, data: bytes) -> bytes:
    """Compresses as Kafka's Java client does, so that every client can read it."""
    return COMPRESSORS[codec](data)


def decompress(codec: int, data: Any, limit: int) -> bytes:
    """The original bytes; DecompressionFailed if they are corrupt or more than `limit`."""
    if codec not in DECOMPRESSORS:
        raise DecompressionFailed(f"no codec has the number {codec}")
    try:
        return DECOMPRESSORS[codec](data, limit)
    except (zlib.error, EOFError, cramjam.DecompressionError) as wrong:
        raise DecompressionFailed(f"{NAMES[codec]}: {wrong}") from None


def _too_much(codec: str, limit: int) -> DecompressionFailed:
    return DecompressionFailed(f"{codec}: more than the limit of {limit} bytes")


def _stored(data: Any, limit: int) -> bytes:
    if len(data) > limit:
        raise _too_much("none", limit)
    return bytes(data)


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _gunzip(data: Any, limit: int) -> bytes:
    member = zlib.decompressobj(wbits=31)
    out = member.decompress(data, limit + 1)
    if len(out) > limit:
        raise _too_much("gzip", limit)
    if not member.eof or member.unused_data:
        raise DecompressionFailed("gzip: bytes behind the end" if member.eof else "gzip: the bytes end inside it")
    return out


def _snappy(data: bytes) -> bytes:
    out = [XERIAL_HEADER]
    for start in range(0, len(data), XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + XERIAL_BLOCK]))
        out += (len(block).to_bytes(4, "big"), block)
    return b"".join(out)


def snappy_raw(data: bytes) -> bytes:
    """Snappy without Java's framing, as some clients send it."""
    return bytes(cramjam.snappy.compress_raw(data))


def _unsnappy(data: Any, limit: int) -> bytes:
    data = bytes(data)
    if not data.startswith(XERIAL_MAGIC):
        return _unsnappy_block(data, limit)
    out, left, pos = [], limit, len(XERIAL_HEADER)
    while pos < len(data):
        size = int.from_bytes(data[pos : pos + 4], "big")
        if pos + 4 + size > len(data):
            raise DecompressionFailed("snappy: the bytes end inside a block")
        block = _unsnappy_block(data[pos + 4 : pos + 4 + size], left)
        left -= len(block)
        out.append(block)
        pos += 4 + size
    return b"".join(out)


def _unsnappy_block(block: bytes, limit: int) -> bytes:
    """The announced length is believed only as far as such a block could hold it."""
    announced = cramjam.snappy.decompress_raw_len(block)
    if announced > limit:
        raise _too_much("snappy", limit)
    if announced > SNAPPY_MOST * len(block):
        raise DecompressionFailed(f"snappy: {len(block)} bytes cannot hold the {announced} announced")
    return bytes(cramjam.snappy.decompress_raw(block))


def _lz4(data: bytes) -> bytes:
    out = [LZ4_HEADER]
    for start in range(0, len(data), LZ4_BLOCK):
        plain = data[start : start + LZ4_BLOCK]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        mark = len(block)
        if mark >= len(plain):
            block, mark = plain, len(plain) | LZ4_STORED
        out += (mark.to_bytes(4, "little"), block)
    return b"".join([*out, bytes(4)])


def _growing(name: str, into: Callable[[Any, Any], int]) -> Callable[[Any, int], bytes]:
    """Decompresses into a buffer that grows from a guess to the limit: a short bomb costs the limit, no more."""

    def read(data: Any, limit: int) -> bytes:
        room = min(limit, max(FIRST_GUESS, 8 * len(data)))
        while True:
            buffer = bytearray(room)
            try:
                size = into(data, buffer)
            except cramjam.DecompressionError as wrong:
                if "whole buffer" not in str(wrong):
                    raise
                if room >= limit:
                    raise _too_much(name, limit) from None
                del buffer
                room = min(limit, room * 8)
                continue
            return bytes(memoryview(buffer)[:size])

    return read


COMPRESSORS: dict[int, Callable[[bytes], bytes]] = {
    NONE: bytes,
    GZIP: _gzip,
    SNAPPY: _snappy,
    LZ4: _lz4,
    ZSTD: lambda data: bytes(cramjam.zstd.compress(data)),
}
DECOMPRESSORS: dict[int, Callable[[Any, int], bytes]] = {
    NONE: _stored,
    GZIP: _gunzip,
    SNAPPY: _unsnappy,
    LZ4: _growing("lz4", cramjam.lz4.decompress_into),
    ZSTD: _growing("zstd", cramjam.zstd.decompress_into),
}

"""Records that name their writer: all of it follows from the value, so a damaged record can be told from a true one.

value bytes   "BTR1" | value int64 | length uint32 | filler (a slice of a fixed text, from where the value says)
key           int64, or null
header "bt"   value int64 | timestamp int64 | key int64   (names a tombstone's value, and the right key and timestamp)
"""

import struct
import time
from collections.abc import Iterable
from hashlib import blake2b
from random import Random

import msgspec

MAGIC = b"BTR1"
MIN_SIZE = 16
KEYS = 1_024
_HEADER = "bt"
_NO_KEY = -(2**63)
_VALUE = struct.Struct(">4sqI")
_NAMES = struct.Struct(">qqq")
_KEY = struct.Struct(">q")
_TEXT = Random(0).randbytes(65_536 + 251)
_TURNS = 65_521

Headers = tuple[tuple[str, bytes | None], ...]


class ReadBack(msgspec.Struct, frozen=True, gc=False):
    """What a reader found: the value (None: no record of ours), the key, and whether all of it is as written."""

    value: int | None
    key: int | None
    intact: bool
    digest: str | None = None
    tombstone: bool = False


def record_for(
    value: int, size: int, *, key: int | None = -1, tombstone: bool = False, timestamp: int | None = None
) -> tuple[bytes | None, bytes | None, Headers, int]:
    """Key, value bytes, headers and timestamp (ms) of the record that carries this value; `size` below 16 counts as 16.

    `key` -1 derives one of 1,024 keys from the value; None sends none. `timestamp` None takes the wall clock.
    """
    number = value % KEYS if key == -1 else key
    at = time.time_ns() // 1_000_000 if timestamp is None else timestamp
    headers: Headers = ((_HEADER, _NAMES.pack(value, at, _NO_KEY if number is None else number)),)
    return (None if number is None else _KEY.pack(number)), None if tombstone else _body(value, size), headers, at


def read_back(
    key: bytes | None,
    value_bytes: bytes | memoryview | None,
    headers: Iterable[tuple[str | bytes, bytes | None]] | None,
    timestamp: int,
    *,
    append_time: bool = False,
) -> ReadBack:
    """Names the value of a record that was read and says whether it is intact.

    `append_time`: the broker sets the timestamp itself, so that nothing follows from it.
    """
    body = None if value_bytes is None else bytes(value_bytes)
    found = _KEY.unpack(key)[0] if key is not None and len(key) == _KEY.size else None
    names = _names(headers)
    value = _value(body) if body is not None else (names[0] if names else None)
    if value is None:
        return ReadBack(None, found, False, _digest(key, body), body is None)
    intact = (
        names is not None
        and names[0] == value
        and (None if names[2] == _NO_KEY else _KEY.pack(names[2])) == key
        and (append_time or timestamp == names[1])
        and (body is None or _whole(body, value))
    )
    return ReadBack(value, found, intact, None if intact else _digest(key, body), body is None)


def _body(value: int, size: int) -> bytes:
    length = max(size, MIN_SIZE)
    return _VALUE.pack(MAGIC, value, length) + _filler(value, length - MIN_SIZE)


def _filler(value: int, size: int) -> bytes:
    start = value % 251
    text = _TEXT[start : start + min(size, _TURNS)]
    return text if size <= _TURNS else (text * (size // _TURNS + 1))[:size]


def _value(body: bytes) -> int | None:
    if len(body) < MIN_SIZE or body[:4] != MAGIC:
        return None
    return int(_VALUE.unpack_from(body)[1])


def _whole(body: bytes, value: int) -> bool:
    return int(_VALUE.unpack_from(body)[2]) == len(body) and body[MIN_SIZE:] == _filler(value, len(body) - MIN_SIZE)


def _names(headers: Iterable[tuple[str | bytes, bytes | None]] | None) -> tuple[int, int, int] | None:
    """The content of our header, if it is there exactly once and nothing stands beside it."""
    listed = list(headers or ())
    if len(listed) != 1 or listed[0][0] not in (_HEADER, b"bt"):
        return None
    content = listed[0][1]
    if content is None or len(content) != _NAMES.size:
        return None
    value, at, key = _NAMES.unpack(content)
    return value, at, key


def _digest(key: bytes | None, body: bytes | None) -> str:
    text = blake2b(digest_size=8)
    for part in (key, body):
        text.update(b"-" if part is None else b"%d:" % len(part) + part)
    return text.hexdigest()

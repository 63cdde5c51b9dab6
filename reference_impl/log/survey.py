"""Looks at every record of a batch, as Kafka's validator does, without building a single object.

What it is for: a declared count that is not true, broken records, missing keys on compacted topics, timestamps out of
bounds and the batch's true largest timestamp. One pass over the bytes; about a microsecond a record.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from brokertrial.reference_impl import bugs


class BrokenRecords(Exception):
    """The bytes behind the header are not the records that the header declares."""


@dataclass(slots=True)
class Survey:
    """What one pass over the records found; times are deltas to the batch's base timestamp."""

    smallest_delta: int = 0
    largest_delta: int = 0
    dense: bool = True
    keyless: list[int] = field(default_factory=list)
    deltas: list[int] = field(default_factory=list)


def survey(records: bytes | memoryview, count: int) -> Survey:
    """Walks the uncompressed records; raises BrokenRecords at the first thing that is not as declared."""
    found = Survey()
    try:
        end = _walk(records, count, found)
    except IndexError:
        raise BrokenRecords("the batch ends inside a record") from None
    if end != len(records):
        raise BrokenRecords(f"{len(records) - end} bytes are left behind the last declared record")
    found.smallest_delta, found.largest_delta = min(found.deltas), max(found.deltas)
    return found


def _walk(data: bytes | memoryview, count: int, found: Survey) -> int:
    at, total = 0, len(data)
    deltas, keyless, gaps_alone = found.deltas, found.keyless, bugs.on("Y44")
    for index in range(count):
        length, at = _varint(data, at)
        end = at + length
        if length < 0 or end > total:
            raise BrokenRecords(f"record {index} declares {length} bytes, {total - at} are left")
        delta, at = _varint(data, at + 1)
        deltas.append(delta)
        offset_delta, at = _varint(data, at)
        if offset_delta != index and not (gaps_alone and offset_delta < index):
            found.dense = False
        key_length, at = _varint(data, at)
        if key_length < 0:
            keyless.append(index)
        else:
            at += key_length
        value_length, at = _varint(data, at)
        if value_length > 0:
            at += value_length
        headers = data[at]
        at += 1
        if headers:
            at = _skip_headers(data, at - 1, end, index)
        if at != end:
            raise BrokenRecords(f"record {index} declares {length} bytes and uses {at - end + length}")
    return at


def _skip_headers(data: bytes | memoryview, at: int, end: int, index: int) -> int:
    count, at = _varint(data, at)
    if count < 0 or count > end - at:
        raise BrokenRecords(f"record {index} declares {count} headers")
    for _ in range(count):
        key_length, at = _varint(data, at)
        if key_length < 0:
            raise BrokenRecords(f"record {index} has a header without a key")
        value_length, at = _varint(data, at + key_length)
        at += max(value_length, 0)
        if at > end:
            raise BrokenRecords(f"record {index} has a header that reaches beyond it")
    return at


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:  # nearly always
        return (byte >> 1) ^ -(byte & 1), at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
        if shift > 63:
            raise BrokenRecords("a number of more than ten bytes")

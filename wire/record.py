"""One record, and the varint form that records have inside a batch of version 2."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from brokertrial.wire.batch_header import BatchHeader, RecordsMalformed

NO_TIMESTAMP = -1
RecordHeader = tuple[str | bytes, bytes | None]


@dataclass(slots=True)
class Record:
    """A record: bytes or None for key and value. Read header keys are text, or bytes where they are not UTF-8."""

    key: bytes | None
    value: bytes | None
    headers: tuple[RecordHeader, ...] = ()
    timestamp: int = NO_TIMESTAMP
    offset: int = -1


def _zigzag(number: int) -> bytes:
    number = number << 1 ^ number >> 63
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


SMALL = {number: _zigzag(number) for number in range(-64, 64)}


def varint(number: int) -> bytes:
    """Signed: zigzag, then seven bits a byte, lowest first."""
    return SMALL.get(number) or _zigzag(number)


def _sized(data: bytes | None) -> bytes:
    return b"\x01" if data is None else varint(len(data)) + data


def write_records(records: Iterable[Record], deltas: Sequence[int], base_timestamp: int) -> bytes:
    """The records one after the other, as they follow the header."""
    out: list[bytes] = []
    for record, delta in zip(records, deltas, strict=True):
        tail = b"".join(
            [_sized(key.encode() if isinstance(key, str) else key) + _sized(value) for key, value in record.headers]
        )
        body = b"".join(
            [
                b"\0",
                varint(record.timestamp - base_timestamp),
                varint(delta),
                _sized(record.key),
                _sized(record.value),
                varint(len(record.headers)),
                tail,
            ]
        )
        out += (varint(len(body)), body)
    return b"".join(out)


class _Bad(Exception):
    pass


def _read_varint(data: bytes, pos: int) -> tuple[int, int]:
    """The number at `pos` and the position after it; at most ten bytes."""
    number = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number >> 1 ^ -(number & 1), pos
        shift += 7
        if shift > 63:
            raise _Bad("a varint of more than ten bytes")


def _read_bytes(data: bytes, pos: int, stop: int, what: str) -> tuple[bytes | None, int]:
    byte = data[pos]
    if byte < 0x80:
        size, pos = byte >> 1 ^ -(byte & 1), pos + 1
    else:
        size, pos = _read_varint(data, pos)
    if size < 0:
        if size != -1:
            raise _Bad(f"{what} of length {size}")
        return None, pos
    if pos + size > stop:
        raise _Bad(f"{what}: {size} bytes announced, {stop - pos} left in the record")
    return data[pos : pos + size], pos + size


def _read_headers(data: bytes, pos: int, stop: int, count: int) -> tuple[tuple[RecordHeader, ...], int]:
    if count < 0 or count * 2 > stop - pos:
        raise _Bad(f"{count} headers announced in {stop - pos} bytes")
    found: list[RecordHeader] = []
    for _ in range(count):
        key, pos = _read_bytes(data, pos, stop, "a header key")
        if key is None:
            raise _Bad("a header key is null")
        value, pos = _read_bytes(data, pos, stop, "a header value")
        try:
            found.append((key.decode(), value))
        except UnicodeDecodeError:
            found.append((key, value))
    return tuple(found), pos


def read_records(payload: bytes, header: BatchHeader) -> Iterator[Record]:
    """The records after the header, decompressed; RecordsMalformed where they break off or do not fit."""
    data, pos, end = payload, 0, len(payload)
    append_time = header.max_timestamp if header.timestamp_type == "append" else None
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    try:
        for _ in range(header.record_count):
            size, pos = _read_varint(data, pos)
            stop = pos + size
            if size < 0 or stop > end:
                raise _Bad(f"a record of {size} bytes announced, {end - pos} left")
            delta_ms, pos = _read_varint(data, pos + 1)
            delta, pos = _read_varint(data, pos)
            key, pos = _read_bytes(data, pos, stop, "the key")
            value, pos = _read_bytes(data, pos, stop, "the value")
            count, pos = _read_varint(data, pos)
            headers: tuple[RecordHeader, ...] = ()
            if count:
                headers, pos = _read_headers(data, pos, stop, count)
            if pos != stop:
                raise _Bad(f"a record of {size} bytes whose fields take {size + pos - stop}")
            timestamp = base_timestamp + delta_ms if append_time is None else append_time
            yield Record(key, value, headers, timestamp, base_offset + delta)
        if pos != end:
            raise _Bad(f"{end - pos} bytes left over behind the last record")
    except IndexError:
        raise RecordsMalformed(header.magic, pos, "the bytes end inside a record") from None
    except _Bad as wrong:
        raise RecordsMalformed(header.magic, pos, str(wrong)) from None

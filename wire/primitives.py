"""What generated encoders and decoders call: varints, ids, tagged fields, and what can be wrong with a frame."""

from collections.abc import Callable
from struct import pack, unpack_from
from typing import Any
from uuid import UUID, SafeUUID

from brokertrial.wire.structs import ZERO_UUID, UnknownTags

Buffer = bytes | bytearray | memoryview

FIXED = {  # kind -> (format of `struct`, size in bytes)
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}


class BadBytes(Exception):
    """What is wrong, before it is known where; the frame boundary turns it into Malformed."""


def uvarint_bytes(number: int) -> bytes:
    """An unsigned varint: seven bits a byte, lowest first."""
    if number < 0:
        raise ValueError(f"{number} is no unsigned number")
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


SMALL_VARINTS = tuple(uvarint_bytes(number) for number in range(129))


def read_uvarint(data: Buffer, pos: int) -> tuple[int, int]:
    """The number at `pos` and the position after it; at most five bytes and 32 bits."""
    number = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise BadBytes("a varint of more than five bytes")
    if number > 0xFFFFFFFF:
        raise BadBytes("a varint of more than 32 bits")
    return number, pos


_new_uuid = UUID.__new__
_set_attribute = object.__setattr__
_ZERO_BYTES = bytes(16)


def uuid_from(raw: bytes) -> UUID:
    """A UUID without the checks of its constructor, which cost more than the rest of a message."""
    if raw == _ZERO_BYTES:
        return ZERO_UUID
    made = _new_uuid(UUID)
    _set_attribute(made, "int", int.from_bytes(raw, "big"))
    _set_attribute(made, "is_safe", SafeUUID.unknown)
    return made


def tag_section(known: list[tuple[int, bytes]], unknown: UnknownTags) -> bytes:
    """All tagged fields in ascending order, preceded by their number; unknown ones with equal tags keep their order."""
    tags = sorted([*known, *unknown], key=lambda pair: pair[0]) if unknown else known
    parts = [uvarint_bytes(len(tags))]
    for tag, body in tags:
        parts += (uvarint_bytes(tag), uvarint_bytes(len(body)), body)
    return b"".join(parts)


def tag_head(data: Buffer, pos: int, end: int, where: str) -> tuple[int, int, int]:
    """The number of the tagged field at `pos`, where its body begins and where it stops."""
    tag, pos = read_uvarint(data, pos)
    size, pos = read_uvarint(data, pos)
    if pos + size > end:
        raise BadBytes(f"a tagged field of {where}: {size} bytes announced, {end - pos} left")
    return tag, pos, pos + size


def unknown_tags(data: Buffer, pos: int, end: int, count: int, where: str) -> tuple[UnknownTags, int]:
    """The tagged fields of a struct that knows none, in their order, and the position after them."""
    found = []
    for _ in range(count):
        tag, pos, stop = tag_head(data, pos, end, where)
        found.append((tag, bytes(data[pos:stop])))
        pos = stop
    return tuple(found), pos


def refuse_tags(where: str) -> None:
    raise ValueError(f"{where} carries unknown tagged fields, which this version cannot")


def refuse_field(name: str, value: Any) -> None:
    raise ValueError(f"{name} does not exist in this version and must not be left out, but is {value!r:.80}")


def bad_length(name: str, length: int, left: int) -> None:
    if length < 0:
        raise BadBytes(f"{name}: null or negative length ({length}) where a value is required")
    raise BadBytes(f"{name}: {length} bytes announced, {left} left")


def bad_count(name: str, count: int, left: int) -> None:
    if count < 0:
        raise BadBytes(f"{name}: null or negative count ({count}) where an array is required")
    raise BadBytes(f"{name}: {count} elements announced, {left} bytes left")


def too_many(name: str) -> None:
    raise BadBytes(f"{name}: more elements than any request needs")


def bad_tag(name: str, over: int) -> None:
    raise BadBytes(f"{name}: its tagged field is {abs(over)} bytes {'too short' if over > 0 else 'too long'}")


GeneratedEncoder = Callable[[Any, Callable[[Any], None]], None]
GeneratedDecoder = Callable[[Buffer, memoryview, int, int], tuple[Any, int]]

SCOPE: dict[str, Any] = {
    "V": SMALL_VARINTS,
    "uvarint_bytes": uvarint_bytes,
    "read_uvarint": read_uvarint,
    "uuid_from": uuid_from,
    "ZERO_UUID": ZERO_UUID,
    "tag_section": tag_section,
    "tag_head": tag_head,
    "unknown_tags": unknown_tags,
    "refuse_tags": refuse_tags,
    "refuse_field": refuse_field,
    "bad_length": bad_length,
    "bad_count": bad_count,
    "bad_tag": bad_tag,
    "too_many": too_many,
    "pack": pack,
    "unpack_from": unpack_from,
    "new": object.__new__,
}

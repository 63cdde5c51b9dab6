"""Deliberately wrong frames. Every part of a frame can be replaced, nothing is checked.

    unchecked_request(message, 9, replace={"topic_data[0].name": b"\\xff\\xff"})   the bytes of that field, as they are
    unchecked_request(message, 9, lengths={"topic_data": 2**31 - 1})              the count or length that is announced
    unchecked_request(message, 9, tags={"topic_data[0]": [(9, b"x"), (9, b"y")]}) tags as given: unsorted, doubled
    unchecked_request(message, 9, omit={"timeout_ms"})                            nothing at all where the field belongs
    ... trailing=b"more", cut=7 (bytes taken from the end), size=-1, api_key=999, api_version=99, header_version=0

Paths name fields as the schema does, with the index of an element in brackets; "" is the message itself. A number that
does not fit wraps around; a null where none is allowed is written as null; a field that the version lacks is left out.
This encoder walks the schema instead of compiling it: without overrides it must agree with the other one byte for byte.
"""

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brokertrial.wire import apis
from brokertrial.wire.primitives import FIXED, uvarint_bytes
from brokertrial.wire.schema_text import Field, parts
from brokertrial.wire.source import tagged, untagged
from brokertrial.wire.structs import Struct

Tags = Sequence[tuple[int, bytes]]
WRAPPING = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}


@dataclass(frozen=True, slots=True)
class Overrides:
    """What to write instead of what is right, by path."""

    replace: Mapping[str, bytes] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, Tags] = field(default_factory=dict)
    omit: Collection[str] = ()


def unchecked_body(message: Struct, version: int, overrides: Overrides = Overrides()) -> bytes:
    """The message without header and size."""
    part = parts(message._api)[message._direction]
    return b"".join(_struct(message, part.fields, version, version in part.flexible, "", overrides))


def unchecked_request(
    message: Struct,
    version: int,
    correlation_id: int = 0,
    client_id: str | None = None,
    *,
    replace: Mapping[str, bytes] | None = None,
    lengths: Mapping[str, int] | None = None,
    tags: Mapping[str, Tags] | None = None,
    omit: Collection[str] = (),
    header: bytes | None = None,
    header_tags: Tags = (),
    header_version: int | None = None,
    api_key: int | None = None,
    api_version: int | None = None,
    trailing: bytes = b"",
    cut: int = 0,
    size: int | None = None,
) -> bytes:
    """A request with its size, wrong in whatever way is asked for; right where nothing is asked."""
    api = apis.by_name(message._api)
    body = unchecked_body(message, version, Overrides(replace or {}, lengths or {}, tags or {}, omit))
    if header is None:
        number = api.request_header_version(version) if header_version is None else header_version
        key, told = api.key if api_key is None else api_key, version if api_version is None else api_version
        header = _wrap(key, 2) + _wrap(told, 2) + _wrap(correlation_id, 4)
        if number >= 1:
            name = (client_id or "").encode()
            header += (_wrap(-1, 2) if client_id is None else _wrap(len(name), 2)) + name
        if number >= 2:
            header += _tag_section(header_tags)
    return _framed(header + body + trailing, cut, size)


def unchecked_response(
    message: Struct,
    version: int,
    correlation_id: int = 0,
    *,
    replace: Mapping[str, bytes] | None = None,
    lengths: Mapping[str, int] | None = None,
    tags: Mapping[str, Tags] | None = None,
    omit: Collection[str] = (),
    header_tags: Tags = (),
    header_version: int | None = None,
    trailing: bytes = b"",
    cut: int = 0,
    size: int | None = None,
) -> bytes:
    """A response with its size, wrong in whatever way is asked for."""
    body = unchecked_body(message, version, Overrides(replace or {}, lengths or {}, tags or {}, omit))
    known = apis.by_name(message._api).response_header_version(version)
    number = known if header_version is None else header_version
    header = _wrap(correlation_id, 4) + (_tag_section(header_tags) if number >= 1 else b"")
    return _framed(header + body + trailing, cut, size)


def _framed(frame: bytes, cut: int, size: int | None) -> bytes:
    """The size is that of the uncut frame unless stated: a cut frame promises more than it holds."""
    return _wrap(len(frame) if size is None else size, 4) + frame[: len(frame) - cut]


def _wrap(number: int, size: int) -> bytes:
    return (number % (1 << 8 * size)).to_bytes(size, "big")


def _tag_section(tags: Tags) -> bytes:
    """The tags exactly as given, in their order."""
    bodies = [uvarint_bytes(tag) + uvarint_bytes(len(body)) + body for tag, body in tags]
    return uvarint_bytes(len(bodies)) + b"".join(bodies)


def _struct(
    value: Struct, fields: tuple[Field, ...], version: int, flexible: bool, path: str, wrong: Overrides
) -> Iterator[bytes]:
    for each in untagged(fields, version):
        yield from _field(each, getattr(value, each.name), version, flexible, f"{path}.{each.name}".lstrip("."), wrong)
    if path in wrong.tags:
        yield _tag_section(wrong.tags[path])
    elif flexible:
        found = list(value._unknown_tags)
        for each in tagged(fields, version):
            inner = f"{path}.{each.name}".lstrip(".")
            content = getattr(value, each.name)
            if inner in wrong.replace or content != _default(type(value), each):
                found.append((each.tag or 0, b"".join(_field(each, content, version, flexible, inner, wrong))))
        yield _tag_section(sorted(found, key=lambda pair: pair[0]))


def _default(kind: type[Struct], each: Field) -> Any:
    return getattr(kind(), each.name)


def _field(each: Field, value: Any, version: int, flexible: bool, path: str, wrong: Overrides) -> Iterator[bytes]:
    if path in wrong.omit:
        return
    if path in wrong.replace:
        yield wrong.replace[path]
    elif each.array:
        yield _length(value, path, 4, flexible, wrong)
        for index, item in enumerate(value or ()):
            yield from _single(each, item, version, flexible, f"{path}[{index}]", wrong)
    elif each.kind == "struct" and version in each.nullable:
        present, absent = (b"\x01", b"\xff") if each.tag is None else (b"\x01", b"\x00")
        yield absent if value is None else present
        if value is not None:
            yield from _struct(value, each.fields, version, flexible, path, wrong)
    else:
        yield from _single(each, value, version, flexible, path, wrong)


def _single(each: Field, value: Any, version: int, flexible: bool, path: str, wrong: Overrides) -> Iterator[bytes]:
    if path in wrong.replace:
        yield wrong.replace[path]
    elif each.kind == "struct":
        yield from _struct(value, each.fields, version, flexible, path, wrong)
    elif each.kind in WRAPPING:
        yield _wrap(int(value), WRAPPING[each.kind] // 8)
    elif each.kind == "uuid":
        yield value if isinstance(value, bytes) else value.bytes
    elif each.kind in FIXED:
        yield struct.pack(">" + FIXED[each.kind][0], value)
    else:
        raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        yield _length(raw, path, 2 if each.kind == "string" else 4, flexible and not each.inflexible, wrong)
        yield bytes(raw or b"")


def _length(value: Any, path: str, size: int, compact: bool, wrong: Overrides) -> bytes:
    length = wrong.lengths.get(path, -1 if value is None else len(value))
    return uvarint_bytes((length + 1) % (1 << 32)) if compact else _wrap(length, size)

"""Frames that make a decoder allocate as much as it can for their size: the measure of amplification.

Each fills one array, or one struct's unknown tags, with as many of the smallest possible elements. Tests and benchmarks
measure what decoding them takes; the promise is at most `PROMISE` bytes for a byte, plus a constant.
"""

import tracemalloc
from collections.abc import Iterator
from typing import Any

from brokertrial.wire.codec import decode, encode, part_of
from brokertrial.wire.schema_text import Field
from brokertrial.wire.structs import Struct, struct_class

PROMISE = 100
CONSTANT_BYTES = 16 * 1024  # the message itself, and what the interpreter needs for any call


def worst_frames(api: str, direction: str, version: int, elements: int) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each such frame of a message part in one version."""
    part = part_of(api, direction)
    flexible = version in part.flexible
    for path, field in _targets(part.fields, version, ()):
        message = _least(struct_class(api, direction), version)
        place = message
        for step in path[:-1]:
            place = _entered(place, step, version)
        yield ".".join(path), _filled(message, place, field, version, elements)
    if flexible:
        message = _least(struct_class(api, direction), version)
        message._unknown_tags = tuple((300 + number % 16_000, b"") for number in range(elements))
        yield "unknown tags", encode(message, version)


def _filled(message: Struct, place: Struct, field: Field, version: int, elements: int) -> bytes:
    child = type(place)._children.get(field.name)
    item = _least(child, version) if child else PLAIN_ELEMENTS.get(field.kind, 1000)
    setattr(place, field.name, [item] * elements)
    return encode(message, version)


PLAIN_ELEMENTS: dict[str, Any] = {"string": "ab", "bytes": b"ab", "bool": True, "int8": 100, "float64": 1.5}


def _targets(fields: tuple[Field, ...], version: int, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Field]]:
    for field in fields:
        if version not in field.versions or (field.array and field.kind == "uuid"):
            continue
        here = (*path, field.name)
        if field.array:
            yield here, field
        yield from _targets(field.fields, version, here)


def _least(kind: type[Struct], version: int) -> Struct:
    """The struct that takes the fewest bytes: null or empty wherever that is allowed."""
    made = kind()
    for field in kind._fields:
        if version in field.versions and version in field.nullable and field.tag is None and field.kind == "struct":
            setattr(made, field.name, None)
        elif field.kind == "struct" and not field.array and getattr(made, field.name) is not None:
            setattr(made, field.name, _least(kind._children[field.name], version))
    return made


def _entered(place: Struct, step: str, version: int) -> Struct:
    """One element more on the way down."""
    child = _least(type(place)._children[step], version)
    field = next(field for field in type(place)._fields if field.name == step)
    setattr(place, step, [child] if field.array else child)
    return child


def decode_peak(api: str, direction: str, version: int, frame: bytes) -> int:
    """The most bytes that decoding the frame held at any time; tracemalloc must be on, the decoder compiled."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    message = decode(api, direction, version, frame)
    peak = tracemalloc.get_traced_memory()[1]
    del message
    return peak - before

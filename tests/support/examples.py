"""Random but valid messages from a seeded `random.Random`: for differential tests, fuzzing and benchmarks.

A small one may leave everything at its default; `unknown_tags` adds tagged fields that nobody knows.
"""

from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

from brokertrial.wire.codec import part_of
from brokertrial.wire.primitives import FIXED
from brokertrial.wire.schema_text import Field
from brokertrial.wire.structs import ZERO_UUID, Struct, struct_class

RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
TEXTS = ("", "a", "topic-1", "Größe", "主题", "😀", "x" * 126, "x" * 127, "y" * 300)
Choice = Callable[[Random, Field], Any]


def plain(rng: Random, field: Field) -> Any:
    """A value of one field that is neither array nor struct: edges as often as the middle."""
    if field.kind in RANGES:
        low, high = RANGES[field.kind]
        return rng.choice((low, high, 0, 1, low and -1, rng.randint(low, high)))
    if field.kind == "bool":
        return rng.random() < 0.5
    if field.kind == "float64":
        return rng.choice((0.0, -1.5, 1e300, rng.random()))
    if field.kind == "uuid":
        return rng.choice((ZERO_UUID, UUID(int=rng.getrandbits(128))))
    text = rng.choice(TEXTS)
    return text if field.kind == "string" else text.encode() * rng.choice((1, 1, 7))


def example(
    rng: Random, api: str, direction: str, version: int, *, value: Choice = plain, unknown_tags: bool = False
) -> Struct:
    """A message whose fields all exist in that version."""
    part = part_of(api, direction)
    kind = struct_class(api, direction)
    return _struct(rng, kind, part.fields, version, value, unknown_tags and version in part.flexible)


def _struct(
    rng: Random, kind: type[Struct], fields: tuple[Field, ...], version: int, value: Choice, tags: bool
) -> Struct:
    made = kind()
    for field in fields:
        if version not in field.versions or (field.tag is not None and rng.random() < 0.3):
            continue
        if version in field.nullable and rng.random() < 0.25:
            setattr(made, field.name, None)
        elif field.array:
            count = rng.choice((0, 1, 1, 2, 3) if field.kind == "struct" or field.kind not in FIXED else (0, 1, 5, 130))
            items = [_single(rng, kind, field, version, value, tags) for _ in range(count)]
            setattr(made, field.name, items)
        else:
            setattr(made, field.name, _single(rng, kind, field, version, value, tags))
    if tags and rng.random() < 0.5:
        numbers = sorted({rng.choice((50, 127, 128, 20_000, 2**31)) for _ in range(3)})
        made._unknown_tags = tuple((number, rng.randbytes(rng.choice((0, 1, 130)))) for number in numbers)
    return made


def _single(rng: Random, kind: type[Struct], field: Field, version: int, value: Choice, tags: bool) -> Any:
    if field.kind == "struct":
        return _struct(rng, kind._children[field.name], field.fields, version, value, tags)
    return value(rng, field)

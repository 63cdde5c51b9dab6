"""Single changes of a message: a field that is ignored, empty or other than it is, elements that are as the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from uuid import UUID

from brokertrial.wire.schema_text import Field
from brokertrial.wire.structs import Struct, default_source, struct_class

REQUEST, RESPONSE = "request", "response"
ERROR = "error_code"
WRONG_CODES = (-1, 42)
"""UNKNOWN_SERVER_ERROR and INVALID_REQUEST: what a broker says that has forgotten to name what is wrong."""


class Change(NamedTuple):
    """What is done to one field of one API's messages; `version` -1 is all of them."""

    direction: str
    api: str
    path: str
    how: str
    version: int = -1

    def __str__(self) -> str:
        version = f" v{self.version}" if self.version >= 0 else ""
        return f"{self.api}{version} {self.direction} {self.path}: {self.how}"


def possible(message: Struct, version: int) -> Iterator[Change]:
    """The changes that would make another message of this one."""
    for path, _, how in _sites(message, version):
        yield Change(message._direction, message._api, path, how, version)


def change(message: Struct, version: int, wanted: Change) -> bool:
    """Makes the change wherever the message has the field; whether it had it."""
    made = False
    for path, do, how in list(_sites(message, version)):
        if (path, how) == (wanted.path, wanted.how):
            do()
            made = True
    return made


Site = tuple[str, Callable[[], None], str]


def _sites(message: Struct, version: int, prefix: str = "") -> Iterator[Site]:
    for field in message._fields:
        if version not in field.versions:
            continue
        path = f"{prefix}{field.name}"
        value = getattr(message, field.name)
        yield from _of_field(message, field, value, path, version)
        below = value if field.array else [value]
        if field.kind == "struct" and below:
            elements = [one for one in below if one is not None]
            for one in elements:
                yield from _sites(one, version, f"{path}.")
            if len(elements) > 1:
                yield from _as_the_first(elements, version, f"{path}.")


def _of_field(owner: Struct, field: Field, value: Any, path: str, version: int) -> Iterator[Site]:
    default = _default(owner, field)
    request = owner._direction == REQUEST

    def put(new: Any) -> Callable[[], None]:
        return lambda: setattr(owner, field.name, new)

    if not _equal(value, default) and not (field.kind == "struct" and not field.array):
        yield path, put(default), "ignored" if request else "empty"
    if field.name == ERROR and value and not request:
        for code in WRONG_CODES:
            if code != value:
                yield path, put(code), f"{code} for {value}"
    if field.array:
        if value is not None and len(value) > 1:
            yield path, put([value[0]]), "the first alone"
            yield path, put(list(value[:-1])), "without the last"
        if value and not request:
            yield path, put([*value, value[-1]]), "the last twice"
    elif not request and (other := _other(field, value)) is not None:
        yield path, put(other), "another"


def _as_the_first(elements: list[Struct], version: int, prefix: str) -> Iterator[Site]:
    first = elements[0]
    for field in first._fields:
        if version not in field.versions:
            continue
        value = getattr(first, field.name)
        for other in elements[1:]:
            if not _equal(getattr(other, field.name), value):
                yield f"{prefix}{field.name}", _setter(other, field.name, value), "as in the first"


def _setter(owner: Struct, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(owner, name, value)


def _other(field: Field, value: Any) -> Any:
    """A value of its type that is not this one; None where there is none that says anything."""
    if field.name == ERROR or value is None or field.kind in ("struct", "records"):
        return None
    if field.kind == "bool":
        return not value
    if field.kind == "uuid":
        return UUID(int=value.int ^ 1)
    if field.kind == "string":
        return f"{value}x"
    if field.kind == "bytes":
        return bytes(value) + b"x"
    return value + 1 if value < 100 or field.kind in ("int64", "float64") else value - 1


def _default(owner: Struct, field: Field) -> Any:
    source = default_source(field)
    if source == "[]":
        return []
    if source.startswith("C_"):
        return None
    return getattr(struct_class(owner._api, owner._direction)() if not owner._path else type(owner)(), field.name)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)

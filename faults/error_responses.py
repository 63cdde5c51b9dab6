"""Error answers: one made from nothing but its request, and a broker's own answer turned into one."""

from collections.abc import Iterator
from typing import Any

from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, struct_class
from brokertrial.wire.schema_text import Field

_ALIASES = (
    {"index", "partition_index", "partition"},
    {"name", "topic"},
    {"key", "group_id", "transactional_id", "resource_name"},
)
_UNKNOWN = dict.fromkeys(
    (
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "high_watermark",
        "last_stable_offset",
        "committed_offset",
        "offset",
        "timestamp",
        "leader_epoch",
        "node_id",
        "port",
        "producer_id",
        "producer_epoch",
        "generation_id",
        "leader_id",
    ),
    -1,
)
"""What a broker says of these beside an error."""


class NoErrorField(LookupError):
    """The answer to this request has no field that could say so in this version."""


def code_of(error: int | str) -> int:
    """The number of an error given by number or by Kafka's name for it; LookupError when there is none of that name."""
    if isinstance(error, int):
        return error
    code = getattr(errors, error, None)
    if not isinstance(code, int):
        raise LookupError(f"no Kafka error is called {error!r}.")
    return code


def error_response(request: Struct, version: int, code: int) -> Struct:
    """The answer of a broker that refuses everything in this request with one error code."""
    answer = struct_class(request._api, "response")()
    _mirror(answer, request, version)
    if not fail(answer, version, code):
        raise NoErrorField(f"{request._api} version {version} cannot carry an error for this request.")
    return answer


def fail(answer: Struct, version: int, code: int) -> int:
    """Puts the code where a broker would: at the innermost elements that have a place for it. How many places that
    were."""
    inner = sum(fail(child, version, code) for child in _children(answer))
    own = next((f.name for f in answer._fields if f.name.endswith("error_code") and version in f.versions), None)
    if inner or own is None:
        return inner
    setattr(answer, own, code)
    for field in answer._fields:
        if field.name in _UNKNOWN:
            setattr(answer, field.name, _UNKNOWN[field.name])
        elif field.kind == "records":
            setattr(answer, field.name, None)
        elif field.name == "host":
            answer.host = ""
    return 1


def first_error(answer: Struct) -> int:
    """The first error code other than 0 in an answer; 0 when there is none."""
    for field in answer._fields:
        value = getattr(answer, field.name)
        if field.name.endswith("error_code") and isinstance(value, int) and value != 0:
            return value
    return next((code for child in _children(answer) if (code := first_error(child))), 0)


def _children(struct: Struct) -> Iterator[Struct]:
    for field in struct._fields:
        if field.kind == "struct":
            value = getattr(struct, field.name)
            if field.array:
                yield from value or ()
            elif value is not None:
                yield value


def _mirror(answer: Struct, request: Any, version: int) -> None:
    """Gives the answer one element for each that the request named, all the way down."""
    for field in answer._fields:
        if field.kind != "struct" or not field.array or version not in field.versions:
            continue
        kind = answer._children[field.name]
        source = _source(field, kind, request)
        if source:
            setattr(answer, field.name, [_element(kind, item, version) for item in source])


def _source(field: Field, kind: type[Struct], request: Any) -> list[Any]:
    """The array of the request whose elements name the same things as this field's: the one that shares most names."""
    best: tuple[int, list[Any]] = (0, [])
    for asked in getattr(request, "_fields", ()):
        values = getattr(request, asked.name)
        if not asked.array or not values:
            continue
        if asked.kind == "struct":
            shared = sum(1 for _ in _shared(kind, request._children[asked.name]))
        else:
            shared = int(_slot(kind, values[0]) is not None and _can_fail(kind))
        shared += 10 * (shared > 0 and asked.name == field.name)
        best = max(best, (shared, list(values)), key=lambda found: found[0])
    return best[1]


def _element(kind: type[Struct], item: Any, version: int) -> Struct:
    made = kind()
    if isinstance(item, Struct):
        for name, asked in _shared(kind, type(item)):
            setattr(made, name, getattr(item, asked))
        _mirror(made, item, version)
    else:
        slot = _slot(kind, item)
        assert slot is not None, "chosen only because it has a slot"
        setattr(made, slot, item)
    return made


def _shared(kind: type[Struct], asked: type[Struct]) -> Iterator[tuple[str, str]]:
    """Names in the answer's element and in the request's element that mean the same thing."""
    for field in kind._fields:
        if field.kind == "struct" or field.array or field.name in ("error_code", "error_message", *_UNKNOWN):
            continue
        same = next((names for names in _ALIASES if field.name in names), {field.name})
        for other in asked._fields:
            if other.name in same and other.kind == field.kind and not other.array:
                yield field.name, other.name
                break


def _slot(kind: type[Struct], value: object) -> str | None:
    """Where an element of a plain list (a partition number, a name) goes."""
    wanted = ("string",) if isinstance(value, str) else ("int32",)
    names = _ALIASES[0] if isinstance(value, int) else _ALIASES[1] | _ALIASES[2]
    return next((field.name for field in kind._fields if field.kind in wanted and field.name in names), None)


def _can_fail(kind: type[Struct]) -> bool:
    return any(f.name.endswith("error_code") for f in kind._fields) or any(map(_can_fail, kind._children.values()))

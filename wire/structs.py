"""Message classes: slotted, one for all versions, with the schema's defaults; nested dicts become structs.

A struct compares by value, `[]` like `()`. Error codes are plain ints, ids are `uuid.UUID`, maps are lists.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from brokertrial.wire.schema_text import NEVER, Field, parts

ZERO_UUID = UUID(int=0)
UnknownTags = tuple[tuple[int, bytes], ...]


class Struct:
    """One message, or one struct inside a message. Fields are those of the schema text."""

    __slots__ = ("_unknown_tags",)
    _api: ClassVar[str] = ""
    _direction: ClassVar[str] = ""
    _path: ClassVar[str] = ""
    _fields: ClassVar[tuple[Field, ...]] = ()
    _names: ClassVar[tuple[str, ...]] = ()
    _children: ClassVar[dict[str, type["Struct"]]] = {}
    _encoders: ClassVar[dict[int, Callable[..., None]]] = {}
    _unknown_tags: UnknownTags

    if TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._unknown_tags == other._unknown_tags and all(
            _same(getattr(self, name), getattr(other, name)) for name in self._names
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self._items() if value not in (None, [], ())]
        if self._unknown_tags:
            shown.append(f"_unknown_tags={self._unknown_tags!r}")
        name = self._path or f"{self._api}.{self._direction}"
        return f"{name}({', '.join(shown)})"

    def _items(self) -> Iterator[tuple[str, Any]]:
        """Name and value of each field, in the order of the schema."""
        for name in self._names:
            yield name, getattr(self, name)

    def _asdict(self) -> dict[str, Any]:
        """The message as nested dicts: what the constructor takes, without unknown tags."""
        return {name: _plain(value) for name, value in self._items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return value._asdict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return bytes(value) if isinstance(value, memoryview) else value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


@cache
def struct_class(api: str, direction: str) -> type[Struct]:
    """The class of a whole message; its nested classes are in `_children`, by field name."""
    part = parts(api).get(direction)
    if part is None:
        raise LookupError(f"{api} has no {direction}; it has {', '.join(parts(api))}")
    return _make_class(api, direction, "", part.fields)


def _make_class(api: str, direction: str, path: str, fields: tuple[Field, ...]) -> type[Struct]:
    names = tuple(field.name for field in fields)
    children = {
        field.name: _make_class(api, direction, f"{path}.{field.name}".lstrip("."), field.fields)
        for field in fields
        if field.kind == "struct"
    }
    scope: dict[str, Any] = {"ZERO_UUID": ZERO_UUID, "UNSET": object(), "one": _one, "several": _several}
    exec("\n".join(_init_source(fields)), scope | {f"C_{name}": child for name, child in children.items()}, scope)
    body = {
        "__slots__": names,
        "__init__": scope["__init__"],
        "_api": api,
        "_direction": direction,
        "_path": path,
        "_fields": fields,
        "_names": names,
        "_children": children,
        "_encoders": {},
    }
    return type(f"{api}{direction.title()}" + path.title().replace("_", "").replace(".", ""), (Struct,), body)


def default_source(field: Field) -> str:
    """A Python expression for the default, as Kafka's generator chooses it."""
    if field.default == "null" or (field.kind == "records" and field.nullable != NEVER):
        return "None"
    if field.array:
        return "[]"
    if field.kind == "struct":
        return f"C_{field.name}()"
    if field.kind == "string":
        return repr(field.default or "")
    if field.kind in ("bytes", "records"):
        return "b''"
    if field.kind == "uuid":
        return "ZERO_UUID"
    if field.kind == "bool":
        return str(field.default == "true")
    if field.kind == "float64":
        return repr(float(field.default or 0))
    return str(int(field.default or 0))


def _init_source(fields: tuple[Field, ...]) -> Iterator[str]:
    """The constructor: keyword arguments only, fresh lists and structs for those that are absent."""
    needs_fresh = {f.name for f in fields if default_source(f) == "[]" or default_source(f).startswith("C_")}
    arguments = [f"{f.name}=UNSET" if f.name in needs_fresh else f"{f.name}={default_source(f)}" for f in fields]
    yield f"def __init__(self, *, {', '.join([*arguments, '_unknown_tags=()'])}):"
    for f in fields:
        value = f.name
        if f.kind == "struct":
            value = f"{'several' if f.array else 'one'}({f.name}, C_{f.name})"
        if f.name in needs_fresh:
            value = f"{default_source(f)} if {f.name} is UNSET else {value}"
        yield f"    self.{f.name} = {value}"
    yield "    self._unknown_tags = _unknown_tags"


def _one(value: Any, kind: type[Struct]) -> Any:
    return kind(**value) if isinstance(value, dict) else value


def _several(values: Any, kind: type[Struct]) -> Any:
    return None if values is None else [kind(**v) if isinstance(v, dict) else v for v in values]

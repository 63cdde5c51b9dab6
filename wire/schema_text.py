"""Reads the schema text in `wire/schema/`: one message part a tree of fields, one line a field.

    name  type  versions  tag N  default X  ignorable  inflexible

`topics[]` is an array of structs, `leader{}` one struct, `[]int32` an array of numbers; `?` means that null is allowed,
`?2+` from version 2. Versions that are not stated are those of what encloses the field. `ignorable`: left out silently
in a version that lacks it. `inflexible`: never in compact form (the client id of the request header).
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "schema"
MAX_VERSION = 32767


@dataclass(frozen=True, slots=True)
class Versions:
    """A closed range of versions; empty when `low` > `high`."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high


NEVER = Versions(1, 0)


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: str  # int8 ... uuid, string, bytes, records, or "struct"
    array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: str | None  # as written; None: the zero of the type
    ignorable: bool
    inflexible: bool
    fields: tuple["Field", ...] = ()


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """One direction of one API: what is sent, in all its versions."""

    api: str
    direction: str  # request, response, data
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]


@dataclass(slots=True)
class _SchemaLine:
    depth: int
    words: list[str]
    children: list["_SchemaLine"] = field(default_factory=list)


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", name).lower()


def parse_versions(text: str, high: int = MAX_VERSION) -> Versions:
    """`3`, `3-9`, `3+` or `none`."""
    if text == "none":
        return NEVER
    if text.endswith("+"):
        return Versions(int(text[:-1]), high)
    first, _, last = text.partition("-")
    return Versions(int(first), int(last or first))


def after(words: list[str], key: str) -> str | None:
    return words[words.index(key) + 1] if key in words else None


@cache
def header_words(api: str) -> list[str]:
    """The words of a schema file's first line."""
    with (FOLDER / f"{snake_case(api)}.txt").open(encoding="utf-8") as file:
        return file.readline().split()


@cache
def parts(api: str) -> dict[str, MessageSchema]:
    """All directions of an API (or of one data message), by name."""
    text = (FOLDER / f"{snake_case(api)}.txt").read_text("utf-8")
    head, *lines = text.splitlines()
    words = head.split()
    found = {}
    for root in _tree(lines).children:
        direction = root.words[0]
        versions = parse_versions(after(words, "versions" if direction == "data" else direction) or "none")
        flexible = parse_versions(after(words, "flexible") or "none")
        fields = tuple(_field(line, versions) for line in root.children)
        found[direction] = MessageSchema(api, direction, versions, flexible, fields)
    return found


def _tree(lines: list[str]) -> _SchemaLine:
    root = _SchemaLine(-1, [])
    open_lines = [root]
    for text in lines:
        if not text.strip():
            continue
        line = _SchemaLine((len(text) - len(text.lstrip())) // 2, text.split())
        while open_lines[-1].depth >= line.depth:
            open_lines.pop()
        open_lines[-1].children.append(line)
        open_lines.append(line)
    return root


def _field(line: _SchemaLine, within: Versions) -> Field:
    name, *words = line.words
    struct = re.fullmatch(r"(\w+)(\[\]|\{\})(\?(.*))?", name)
    if struct:
        name, array, kind, null, null_versions = struct[1], struct[2] == "[]", "struct", struct[3], struct[4]
    else:
        plain = re.fullmatch(r"(\[\])?(\w+)(\?(.*))?", words.pop(0))
        assert plain is not None, f"not a field: {' '.join(line.words)}"
        array, kind, null, null_versions = plain[1] is not None, plain[2], plain[3], plain[4]
    versions = within
    if words and words[0][0].isdigit():
        versions = parse_versions(words.pop(0), within.high)
    nullable = NEVER if null is None else parse_versions(null_versions, versions.high) if null_versions else versions
    tag = after(words, "tag")
    return Field(
        name=name,
        kind=kind,
        array=array,
        versions=versions,
        nullable=nullable,
        tag=None if tag is None else int(tag),
        default=after(words, "default"),
        ignorable="ignorable" in words,
        inflexible="inflexible" in words,
        fields=tuple(_field(child, versions) for child in line.children),
    )

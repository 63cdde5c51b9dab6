"""A decoded message as text, one field a line, with the fields that matter marked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from brokertrial.wire import errors
from brokertrial.wire.messages import Struct
from brokertrial.wire.records import batches

MAX_LINES = 200
AROUND = 20
MAX_BYTES_SHOWN = 48
_STEP = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)|\[(\d+)\]")


def fields_of(struct: Struct) -> list[tuple[str, Any]]:
    """Names and values of a struct, in the order of the schema."""
    return list(struct._items())


def at_path(struct: Struct, path: str) -> Any:
    """The value at a path such as `topics[0].partitions[1].error_code`."""
    value: Any = struct
    for name, index in _STEP.findall(path):
        value = getattr(value, name) if name else value[int(index)]
    return value


def errors_in(struct: Struct, path: str = "") -> Iterator[tuple[str, int]]:
    """Every error code that is not 0, with its path."""
    for name, value in fields_of(struct):
        here = f"{path}.{name}" if path else name
        if isinstance(value, Struct):
            yield from errors_in(value, here)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, Struct):
                    yield from errors_in(item, f"{here}[{index}]")
        elif name.endswith("error_code") and value:
            yield here, value


def render(struct: Struct, version: int, marks: Collection[str] = ()) -> tuple[str, tuple[int, ...]]:
    """The text of a message and the numbers of the lines that hold the marked paths; cut around these if it is long."""
    lines = [f"{struct._api} {struct._direction} v{version}"]
    marked: list[int] = []
    for path, depth, text in _lines(struct, "", 1, version):
        if path in marks:
            marked.append(len(lines))
        lines.append("  " * depth + text)
    if len(lines) > MAX_LINES:
        lines, marked = _cut(lines, marked)
    return "\n".join(lines), tuple(marked)


def _cut(lines: list[str], marked: list[int]) -> tuple[list[str], list[int]]:
    """The first lines, what lies around each mark, and the lines that enclose it."""
    kept = set(range(MAX_LINES // 4 if marked else MAX_LINES))
    for number in marked:
        if len(kept) < MAX_LINES:
            kept |= set(range(max(0, number - AROUND), min(len(lines), number + AROUND + 1)))
        kept |= {number, *_enclosing(lines, number)}
    shown, at, before = [], [], -1
    for number in [*sorted(kept), len(lines)]:
        if number > before + 1:
            shown.append(f"  ... ({number - before - 1} lines cut here)")
        if number in marked:
            at.append(len(shown))
        shown += lines[number : number + 1]
        before = number
    return shown, at


def _enclosing(lines: Sequence[str], number: int) -> Iterator[int]:
    depth = _depth(lines[number])
    for above in range(number - 1, -1, -1):
        if _depth(lines[above]) < depth:
            depth = _depth(lines[above])
            yield above


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _lines(struct: Struct, path: str, depth: int, version: int) -> Iterator[tuple[str, int, str]]:
    here_now = {field.name for field in struct._fields if version in field.versions}
    fields = [(name, value) for name, value in fields_of(struct) if name in here_now]
    width = max((len(name) for name, _ in fields), default=0)
    for name, value in fields:
        here = f"{path}.{name}" if path else name
        if isinstance(value, Struct):
            yield here, depth, name
            yield from _lines(value, here, depth + 1, version)
        elif isinstance(value, list) and any(isinstance(item, Struct) for item in value):
            for index, item in enumerate(value):
                yield f"{here}[{index}]", depth, f"{name}[{index}]"
                yield from _lines(item, f"{here}[{index}]", depth + 1, version)
        else:
            yield here, depth, f"{name:{width}}  {shown(name, value)}"


def shown(name: str, value: Any) -> str:
    """A value as a person wants to read it: error codes with their names, records as the batches that they are."""
    if value is None:
        return "null"
    if name.endswith("error_code"):
        return f"{value} ({errors.name(value)})"
    if name == "records":
        return _records_shown(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        text = data[:MAX_BYTES_SHOWN].hex(" ")
        return f"{len(data)} bytes: {text}{' ...' if len(data) > MAX_BYTES_SHOWN else ''}"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)


def _records_shown(value: Any) -> str:
    data = bytes(value)
    try:
        parts = [
            f"[base offset {h.base_offset}, last {h.last_offset}, {h.record_count} records, producer {h.producer_id}/"
            f"{h.producer_epoch} sequence {h.base_sequence}{', transactional' if h.is_transactional else ''}"
            f"{', control' if h.is_control else ''}]"
            for h in (batch.header for batch in batches(data))
        ]
    except Exception:  # noqa: BLE001 - what cannot be read as batches is shown as bytes
        return f"{len(data)} bytes: {data[:MAX_BYTES_SHOWN].hex(' ')}"
    return f"{len(data)} bytes: {' '.join(parts) or 'no whole batch'}"

"""The operations of a Jepsen history, one at a time, from `history.edn` or from JSON Lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import msgspec

from brokertrial.histories.formats.edn import BadNotation, forms
from brokertrial.histories.formats.problem import BadFile

TYPES = ("invoke", "ok", "fail", "info")
MOVES = ("send", "poll", "txn")
ASSIGNS = ("assign", "subscribe")
MOST_NS = 1 << 61


class JepsenOperation(msgspec.Struct, gc=False, rename={"rebalance_log": "rebalance-log"}):
    """One operation map; what the checks do not need is left out."""

    type: str | None = None
    f: str | None = None
    value: Any = None
    process: int | str | None = None
    index: int | None = None
    time: int | None = None
    rebalance_log: Any = None
    number: int = 0


_FIELDS = tuple(name for name in JepsenOperation.__struct_fields__ if name not in ("rebalance_log", "number"))


def lines_of(file: Path) -> Iterator[JepsenOperation]:
    """Every operation of a client, checked as far as a line can be by itself; raises BadFile."""
    indexed = -1
    for line in _edn(file) if _is_edn(file) else _json(file):
        if not _is_of_a_client(line):
            continue
        _check(file, line)
        if line.index is not None:
            if line.index < indexed:
                what = f"index {line.index} comes after index {indexed}: operations must be in the order of their index"
                raise BadFile.at(file, line.number, what)
            indexed = line.index
        yield line


def _is_edn(file: Path) -> bool:
    """By its first sign: a JSON operation begins with `{"`, an EDN one with `{:`."""
    if file.suffix in (".edn", ".jsonl", ".ndjson"):
        return file.suffix == ".edn"
    with _open(file) as content:
        start = content.read(4096).lstrip()
    return not start.startswith("{") or not start[1:].lstrip().startswith('"')


def _open(file: Path) -> TextIO:
    try:
        return file.open(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise BadFile(f"{file} cannot be read: {problem.strerror}.") from problem


def _json(file: Path) -> Iterator[JepsenOperation]:
    decoder = msgspec.json.Decoder(JepsenOperation)
    with _open(file) as content:
        for number, text in enumerate(content.buffer, start=1):
            if text.isspace():
                continue
            try:
                line = decoder.decode(text)
            except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
                what = str(problem).replace("`", "")
                raise BadFile.at(file, number, f"this is no operation: {what}") from None
            line.number = number
            yield line


def _edn(file: Path) -> Iterator[JepsenOperation]:
    with _open(file) as content:
        try:
            for number, form in forms(content):
                yield _from_map(file, number, form)
        except BadNotation as problem:
            raise BadFile.at(file, problem.line, problem.what) from None


def _from_map(file: Path, number: int, form: Any) -> JepsenOperation:
    if not isinstance(form, dict):
        raise BadFile.at(file, number, f"an operation must be a map, not {_short(form)}")
    line = JepsenOperation(
        **{name: form.get(name) for name in _FIELDS}, rebalance_log=form.get("rebalance-log"), number=number
    )
    for name in ("index", "time"):
        if type(getattr(line, name)) not in (int, type(None)):
            raise BadFile.at(file, number, f"{name} must be a whole number, not {_short(getattr(line, name))}")
    return line


def _is_of_a_client(line: JepsenOperation) -> bool:
    """Whether it can be judged: what a nemesis does, and calls of other kinds, are carried by the file only."""
    if isinstance(line.f, str):
        line.f = line.f.removeprefix(":")
    if isinstance(line.process, str):
        line.process = line.process.removeprefix(":")
    return line.f in MOVES + ASSIGNS and line.process != "nemesis"


def _check(file: Path, line: JepsenOperation) -> None:
    if isinstance(line.type, str):
        line.type = line.type.removeprefix(":")
    if line.type not in TYPES:
        what = "has no type" if line.type is None else f"has the type {_short(line.type)}"
        raise BadFile.at(file, line.number, f"a {line.f} {what}; it must be one of {', '.join(TYPES)}")
    if type(line.process) not in (int, str):
        raise BadFile.at(file, line.number, f"a {line.f} must name its process")
    if line.index is not None and not 0 <= line.index < MOST_NS:
        raise BadFile.at(file, line.number, f"index {line.index} is no place in a history")
    if line.time is not None and not -MOST_NS < line.time < MOST_NS:
        raise BadFile.at(file, line.number, f"time {line.time} is no time in nanoseconds")


def _short(thing: Any) -> str:
    text = repr(thing)
    return text if len(text) <= 40 else f"{text[:37]}..."

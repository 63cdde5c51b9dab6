"""The value of a send, poll or transaction: its list of micro-operations, understood."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from brokertrial.histories.formats.jepsen_lines import JepsenOperation
from brokertrial.histories.formats.problem import BadFile

MOST = (1 << 63) - 1


class SendOp(NamedTuple):
    """["send", key, value], or ["send", key, [offset or null, value]]."""

    key: int | str
    offset: int | None
    value: Any


class Read(NamedTuple):
    """One record of ["poll", {key: [[offset, value], ...]}]; `guess`: its key stood where JSON has only texts."""

    key: int | str
    guess: bool
    offset: int | None
    value: Any


def moves_of(file: Path, line: JepsenOperation) -> Iterator[SendOp | Read]:
    """What an operation sent and read, in its order; raises BadFile. No value is no micro-operation."""
    if line.value is None:
        return
    if not isinstance(line.value, list):
        raise _bad(file, line, f"the value of a {line.f} must be a list of micro-operations, not {line.value!r:.40}")
    for move in line.value:
        name = move[0] if isinstance(move, list) and move else None
        if name in ("send", ":send"):
            yield _send(file, line, move)
        elif name in ("poll", ":poll"):
            yield from _reads(file, line, move)
        else:
            raise _bad(file, line, f"{move!r:.60} is neither a send nor a poll")


def keys_of(file: Path, line: JepsenOperation, value: Any) -> list[int | str]:
    """The keys that an assign or a subscribe names, or that a rebalance did."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(type(key) in (int, str) for key in value):
        raise _bad(file, line, f"the value of a {line.f} must be a list of keys, not {value!r:.60}")
    return value


def rebalanced_of(file: Path, line: JepsenOperation) -> set[str]:
    """The keys that the operation's rebalance log names, as texts."""
    log = line.rebalance_log
    if log is None:
        return set()
    if not isinstance(log, list) or not all(isinstance(entry, dict) for entry in log):
        raise _bad(file, line, f"a rebalance-log must be a list of maps with keys, not {log!r:.60}")
    return {str(key) for entry in log for key in keys_of(file, line, entry.get("keys"))}


def _send(file: Path, line: JepsenOperation, move: list[Any]) -> SendOp:
    if len(move) != 3 or type(move[1]) not in (int, str):
        raise _bad(file, line, f'{move!r:.60} is no ["send", key, value]')
    told = move[2]
    if not isinstance(told, list):
        offset, value = None, told
    elif len(told) == 2:
        offset, value = told
    else:
        raise _bad(file, line, f'{move!r:.60} is no ["send", key, [offset, value]]')
    if type(value) not in (int, str):
        raise _bad(file, line, f"a value is sent that is neither a whole number nor a text: {value!r:.60}")
    offset = _offset(file, line, offset)
    return SendOp(move[1], None if offset is None or offset < 0 else offset, value)


def _reads(file: Path, line: JepsenOperation, move: list[Any]) -> Iterator[Read]:
    if len(move) == 1 or (len(move) == 2 and move[1] is None):
        return
    if len(move) != 2 or not isinstance(move[1], dict):
        raise _bad(file, line, f'{move!r:.60} is no ["poll", {{key: [[offset, value], ...]}}]')
    for key, pairs in move[1].items():
        if pairs is None:
            continue
        if not isinstance(pairs, list):
            raise _bad(file, line, f"what was polled of key {key} must be a list of [offset, value], not {pairs!r:.60}")
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise _bad(file, line, f"{pair!r:.60}, polled of key {key}, is no [offset, value]")
            offset = _offset(file, line, pair[0])
            if offset is not None and offset < 0:
                raise _bad(file, line, f"a record was polled of key {key} at the negative offset {offset}")
            yield Read(key, isinstance(key, str), offset, pair[1])


def _offset(file: Path, line: JepsenOperation, offset: Any) -> int | None:
    if offset is None or (type(offset) is int and -MOST <= offset <= MOST):
        return offset
    raise _bad(file, line, f"{offset!r:.60} is no offset: it must be a whole number below 2^63, or null")


def _bad(file: Path, line: JepsenOperation, what: str) -> BadFile:
    return BadFile.at(file, line.number, what)

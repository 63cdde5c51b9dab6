"""commit-changed by its definition, and commit-order by trying every order."""

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

from brokertrial.histories.rows import Operation
from tests.checkers.oracle.facts import Facts, OracleRow

FOREVER = 2**63 - 1


class Write(NamedTuple):
    """A commit that may have taken effect: the operation, and when it may have done so."""

    row: Operation
    call: int
    done: int


def writes(facts: Facts) -> list[Write]:
    """Commits that did not certainly fail. In a transaction they take effect while that commits."""
    found = []
    for row in facts.operations:
        if row.kind != "commit" or row.outcome == "fail" or row.topic is None:
            continue
        if row.txn is None:
            done = row.return_ns if row.outcome == "ok" else None
            found.append(Write(row, row.call_ns, FOREVER if done is None else done))
        elif facts.transaction(row.txn) in ("committed", "unknown"):
            ends = [end for end in facts.operations if end.txn == row.txn and end.kind == "commit_txn"]
            calls = [end.call_ns for end in ends if end.outcome != "fail"]
            returns = [end.return_ns for end in ends if end.outcome == "ok" and end.return_ns is not None]
            done = max(returns, default=None) if row.outcome == "ok" else None
            found.append(Write(row, min(calls), FOREVER if done is None else done))
    return found


def offset_fetches(facts: Facts) -> list[Operation]:
    """Answers about committed offsets of groups that nobody deleted."""
    deleting = ("delete_group", "delete_groups", "delete_offsets")
    deleted = {row.group for row in facts.operations if row.kind in deleting and row.outcome != "fail"}
    return [
        row
        for row in facts.operations
        if row.kind == "committed"
        and row.outcome == "ok"
        and row.topic is not None
        and row.return_ns is not None
        and row.committed_offset is not None
        and (row.group is None or row.group not in deleted)
    ]


def _register(row: Operation) -> tuple[str | None, str | None, int | None]:
    return row.group, row.topic, row.partition


def commit_changed(facts: Facts) -> Iterator[OracleRow]:
    """Told what nobody committed, or what was certainly no longer in force."""
    automatic = {client.group for client in facts.clients.values() if client.auto_commit}
    for told in offset_fetches(facts):
        if told.group in automatic or told.return_ns is None or told.committed_offset is None:
            continue
        here = [write for write in writes(facts) if _register(write.row) == _register(told)]
        sources = [
            write
            for write in here
            if write.row.committed_offset == told.committed_offset
            and write.call <= told.return_ns
            and (told.commit_id is None or write.row.commit_id in (None, told.commit_id))
        ]
        nothing = told.committed_offset < 0
        replaced = max((write.done for write in sources), default=None)
        later = [
            write
            for write in here
            if write.done < told.call_ns and (nothing or (replaced is not None and write.call > replaced))
        ]
        lowest = min((write.row.committed_offset or 0 for write in later), default=None)
        back = bool(sources) and not nothing and lowest is not None and told.committed_offset < lowest
        if later or (not nothing and not sources):
            yield {
                "name": "commit-regression" if back else "commit-changed",
                "group_id": told.group,
                "topic": told.topic,
                "partition": told.partition,
                "offset_a": told.committed_offset,
                "offset_b": lowest,
                "op_a": told.op,
                "op_b": min((write.row.op for write in sources), default=None),
                "op_c": min((write.row.op for write in later), default=None),
            }


class RegisterAccess(NamedTuple):
    """One access of a register, as small as it can be."""

    value: int
    call: int
    ret: int
    is_write: bool


def linearizable(accesses: list[RegisterAccess]) -> bool:
    """Tries every order of a handful of accesses; the register begins empty (-1)."""
    return any(_legal(order) for order in permutations(accesses))


def _legal(order: tuple[RegisterAccess, ...]) -> bool:
    value = -1
    for place, access in enumerate(order):
        if any(later.ret < access.call for later in order[place + 1 :]):
            return False
        if access.is_write:
            value = access.value
        elif access.value != value:
            return False
    return True

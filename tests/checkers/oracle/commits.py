"""When commits may have taken effect, and commit-order by trying every order."""

from itertools import permutations
from typing import NamedTuple

from brokertrial.histories.rows import Operation
from tests.checkers.oracle.facts import Facts

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


def committed(commit: Operation) -> int:
    """The offset that a commit names; -1 where it names none."""
    return -1 if commit.committed_offset is None else commit.committed_offset

"""The order of a log by comparing every pair of operations."""

from collections.abc import Sequence

from brokertrial.checkers.linearizability.log import APPEND, EXACT, SAW


def impossible(operations: Sequence[tuple[int, int, int, int, int, int]]) -> set[tuple[str, int]]:
    """The operations (kind, op, call, ret, low, size) that cannot be placed, with the first reason for each.

    The pair of theorem (D): q returned before p was called, and what q shows is above what p allows.
    """
    appends = [each for each in operations if each[0] == APPEND]
    found: set[tuple[str, int]] = set()
    for kind, op, call, _, low, _ in operations:
        if kind == SAW:
            continue
        if kind == EXACT and any(base < low < base + size for *_, base, size in appends):
            found.add(("torn-batch", op))
        earlier = [each for each in operations if each[3] < call]
        reached = max((_after(each, appends) for each in earlier), default=-1)
        if reached > low:
            witness = min(
                (each for each in earlier if _after(each, appends) == reached),
                key=lambda each: each[3],
            )
            found.add((_name(witness[0] == APPEND, kind == APPEND), op))
    return found


def _after(
    operation: tuple[int, int, int, int, int, int], appends: Sequence[tuple[int, int, int, int, int, int]]
) -> int:
    kind, _, _, _, low, size = operation
    if kind == APPEND:
        return low + size
    if kind == SAW:
        return max([low, *(base + length for *_, base, length in appends if base < low < base + length)])
    return low


def _name(append_proves: bool, append_is_wrong: bool) -> str:
    if append_is_wrong:
        return "append-order" if append_proves else "read-from-future"
    return "stale-read" if append_proves else "end-regression"

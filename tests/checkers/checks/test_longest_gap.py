"""longest-gap: its definition once more, as loops."""

from collections.abc import Iterator
from itertools import pairwise

from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.progress import asking


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """The longest time between two acknowledgements of one kind."""
    answers: dict[str, set[tuple[int, int]]] = {}
    for row in asking(facts):
        if row.outcome == "ok" and row.return_ns is not None:
            answers.setdefault(row.kind, set()).add((row.return_ns, row.op))
    gaps = []
    for of_kind in answers.values():
        for (before, one), (after, op) in pairwise(sorted(of_kind)):
            if after > before:
                gaps.append((after - before, -op, one, after))
    if gaps:
        _, op, before, after = max(gaps)
        yield {"op_a": before, "op_b": -op, "fault": _newest_fault(facts, after)}


def _newest_fault(facts: Facts, until_ns: int) -> str:
    """The window that had begun last; of those that began at one moment, the last by name."""
    begun: dict[str, int] = {}
    for event in facts.events:
        if event.kind == "window-begin" and event.window is not None:
            begun[event.window] = min(event.at_ns, begun.get(event.window, event.at_ns))
    return max(((at_ns, window) for window, at_ns in begun.items() if at_ns <= until_ns), default=(0, "none"))[1]

"""Pairs of a case and a situation: which there are, and how they are named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from brokertrial.suites.case import Case, by_id
from brokertrial.suites.draw import Draw
from brokertrial.suites.situations import DRAWS, situations


def pair(case: Case, draw: Draw) -> Case:
    """The case in a situation."""
    return case.in_situation(draw, situations()[draw.situation].needs)


def pairs_of(case: Case, names: Iterable[str] | None = None) -> Iterator[Case]:
    """Every draw of the case in these situations (None: in all). A trial is in none, nor is a case that hurts nodes."""
    if case.kind == "wire" and not case.hurts:
        for name in situations() if names is None else names:
            for number in range(1, DRAWS + 1):
                yield pair(case, Draw(name, number))


def named_pairs(patterns: Iterable[str]) -> list[Case]:
    """The pairs that are named themselves."""
    found = (case_named(pattern) for pattern in patterns if "@" in pattern)
    return [case for case in found if case is not None]


def case_named(case_id: str) -> Case | None:
    """A case by its id, also in a situation (`area/name@stop-2`); None where there is none."""
    plain, _, text = case_id.partition("@")
    case = by_id().get(plain)
    if case is None or not text:
        return case
    try:
        draw = Draw.parse(text)
    except ValueError:
        return None
    return pair(case, draw) if draw.situation in situations() else None

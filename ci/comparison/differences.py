"""What changed from one run to another: newly broken, mended, undecided, and what nobody can say.

before      after        is
kept        broken       newly broken
broken      kept         mended
broken      broken       changed, where it fails in another way
anything    undecided    newly undecided
not met     broken       broken, not known before: nobody can say that it is new
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from brokertrial.ci.comparison.column import Column, in_order
from brokertrial.ci.comparison.standing import DECIDED, FAILED, Standing, standing_of
from brokertrial.suites.result import CaseResult


class Change(StrEnum):
    """What a difference is, the most important first."""

    NEWLY_BROKEN = "newly broken"
    FOUND_BROKEN = "broken, not decided before"
    FAILS_DIFFERENTLY = "fails in another way"
    NEWLY_UNDECIDED = "newly undecided"
    NO_LONGER_DECIDED = "no longer decided"
    MENDED = "mended"
    NOW_KEPT = "kept, not decided before"


@dataclass(frozen=True)
class Difference:
    """A case that is not what it was."""

    case: str
    change: Change
    before: CaseResult | None
    after: CaseResult | None

    @property
    def result(self) -> CaseResult:
        """The one to look at: what came after, where the case was met."""
        found = self.after or self.before
        assert found is not None
        return found


@dataclass(frozen=True)
class Step:
    """From one run to the next one of the same product."""

    before: Column
    after: Column
    differences: tuple[Difference, ...]

    @property
    def listed(self) -> list[Difference]:
        """What a reader has to see, one by one."""
        return [each for each in self.differences if each.change is not Change.NOW_KEPT]

    @property
    def now_kept(self) -> list[Difference]:
        """What was not decided before, mostly since it was not offered, and passes."""
        return [each for each in self.differences if each.change is Change.NOW_KEPT]

    @property
    def unchanged(self) -> int:
        """How many cases were decided in both and came to the same."""
        return sum(
            result.case in self.after.by_case
            and standing_of(result) in DECIDED
            and standing_of(result) is standing_of(self.after.by_case[result.case])
            for result in self.before.by_case.values()
        )

    @property
    def asked_once(self) -> int:
        """How many cases only one of the two runs met."""
        return len(self.before.by_case.keys() ^ self.after.by_case.keys())


def change_of(before: CaseResult | None, after: CaseResult | None) -> Change | None:
    """What a case's two results are to each other; None where nothing changed that can be said.

    What only one of the runs asked is no change, but for a failure: that is never left out.
    """
    if after is None:
        return None
    was, now = standing_of(before) if before else Standing.UNTRIED, standing_of(after)
    if now in FAILED:
        if was is Standing.KEPT:
            return Change.NEWLY_BROKEN
        if was not in FAILED:
            return Change.FOUND_BROKEN
        other = before is not None and _ways(before).isdisjoint(_ways(after))
        return Change.FAILS_DIFFERENTLY if other else None
    if now is Standing.KEPT:
        if was in FAILED:
            return Change.MENDED
        return None if was is Standing.KEPT or before is None else Change.NOW_KEPT
    if now is Standing.UNDECIDED:
        return None if was is Standing.UNDECIDED else Change.NEWLY_UNDECIDED
    return Change.NO_LONGER_DECIDED if was in DECIDED else None


def _ways(result: CaseResult) -> set[str]:
    return {failure.signature for failure in result.failures} or {result.reason.kind if result.reason else ""}


def differences(before: Column, after: Column) -> tuple[Difference, ...]:
    """Every case that is not what it was, the most important first."""
    found = []
    for case in dict.fromkeys((*before.by_case, *after.by_case)):
        was, now = before.by_case.get(case), after.by_case.get(case)
        if (change := change_of(was, now)) is not None:
            found.append(Difference(case, change, was, now))
    return tuple(sorted(found, key=lambda each: (list(Change).index(each.change), each.case)))


def steps(columns: Sequence[Column]) -> list[Step]:
    """From run to run of each product: by version, then by day."""
    products: dict[str, list[Column]] = {}
    for column in columns:
        products.setdefault(column.product, []).append(column)
    return [
        Step(before, after, differences(before, after))
        for some in products.values()
        for ordered in [in_order(some)]
        for before, after in pairwise(ordered)
    ]

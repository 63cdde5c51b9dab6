"""How bad a failure is for those who use the broker: one word a harm, for cells and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.comparison.column import Column
from brokertrial.ci.reports.causes import Cause, HarmKind, causes, harm_of_anomaly, ways_of
from brokertrial.suites.result import CaseResult

WORDS = {
    HarmKind.LOSS: "lost",
    HarmKind.DUPLICATION: "doubled",
    HarmKind.DISORDER: "reordered",
    HarmKind.ISOLATION: "isolation",
    HarmKind.UNAVAILABLE: "down",
    HarmKind.INCONSISTENT: "inconsistent",
    HarmKind.UNUSABLE: "no answer",
    HarmKind.WRONG: "wrong",
    HarmKind.MISSING: "missing",
}


def harm_of(result: CaseResult) -> HarmKind | None:
    """The worst that a failed case shows; None of any other."""
    if result.verdict is not Verdict.FAIL:
        return None
    return min((harm for _, _, harm in ways_of(result)), default=HarmKind.WRONG)


def worst_harm(results: Iterable[CaseResult], guarantee: str = "") -> HarmKind | None:
    """The worst of several; of one guarantee that anomalies name, the worst of these anomalies."""
    return min((harm for result in results if (harm := _harm_to(result, guarantee)) is not None), default=None)


def _harm_to(result: CaseResult, guarantee: str) -> HarmKind | None:
    named = [each for each in result.anomalies if each.guarantee == guarantee and each.attribution == "broker"]
    return min(map(harm_of_anomaly, named)) if named and harm_of(result) is not None else harm_of(result)


@dataclass(frozen=True)
class HarmRow:
    """One harm: for each column, the causes that do it and the cases that show them."""

    harm: HarmKind
    causes: list[list[Cause]]

    def cases(self, place: int) -> int:
        """How many cases of a column show it."""
        return sum(len(cause.results) for cause in self.causes[place])


def by_harm(columns: Sequence[Column]) -> list[HarmRow]:
    """A row for each harm that any column shows, the worst first; only what must be kept counts."""
    found = [_causes(column) for column in columns]
    rows = [HarmRow(harm, [[cause for cause in some if cause.harm is harm] for some in found]) for harm in HarmKind]
    return [row for row in rows if any(row.causes)]


def _causes(column: Column) -> list[Cause]:
    failed = [result for result in column.results if result.is_failure]
    return causes(failed, column.results)

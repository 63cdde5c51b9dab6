"""Guarantees by targets: each cell says what the cases that decide the guarantee came to on that target.

    idem-002  must   kafka ✓ 6/6    mine ✗ doubled 2/6    theirs ? 5/6    other ∅

A case under load that failed by an anomaly breaks the guarantees that its anomalies name; the others that it decides
are undecided by it, since nothing was seen of them. Any other failed case breaks all that it names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from brokertrial.ci.comparison.column import Column
from brokertrial.ci.comparison.severity import WORDS, worst_harm
from brokertrial.ci.comparison.standing import DECIDED, FAILED, NEEDS_A_LOOK, ORDER, Standing, standing_of, worst
from brokertrial.ci.reports.causes import HarmKind
from brokertrial.ci.reports.guarantee_rows import area_title
from brokertrial.suites.guarantees import Guarantee, registry
from brokertrial.suites.result import CaseResult

FIT_FOR_A_FILE = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
FOREIGN_AREA = "other"
FEW = 2
"""Cases that are named wherever they are spoken of."""
Deciding = dict[str, list[tuple[Standing, CaseResult]]]


@dataclass(frozen=True)
class Cell:
    """One target and one guarantee, or one fault."""

    column: Column
    standings: tuple[tuple[Standing, CaseResult], ...]
    left_out: tuple[str, ...] = ()
    """Cases that were not chosen for this run."""
    guarantee: str = ""
    """Where it is about one."""

    @cached_property
    def standing(self) -> Standing:
        """The worst of its cases; where some were left out and none was met, untried."""
        return worst(standing for standing, _ in self.standings)

    @property
    def decided(self) -> int:
        """How many of its cases passed or failed."""
        return sum(standing in DECIDED for standing, _ in self.standings)

    @property
    def kept(self) -> int:
        """How many passed."""
        return sum(standing is Standing.KEPT for standing, _ in self.standings)

    @property
    def cases(self) -> int:
        """How many there are, met or not."""
        return len(self.standings) + len(self.left_out)

    @cached_property
    def harm(self) -> HarmKind | None:
        """The worst that was seen, of what must be kept."""
        told = (result for standing, result in self.standings if standing is self.standing in FAILED)
        return worst_harm(told, self.guarantee)

    @property
    def open(self) -> int:
        """How many of its cases came to no verdict, or were not met."""
        return self.cases - self.decided

    @property
    def word(self) -> str:
        """What stands beside the mark: the harm where there is one."""
        return WORDS[self.harm] if self.harm is not None else str(self.standing)

    @cached_property
    def leading(self) -> CaseResult | None:
        """The case that makes it what it is: the most harmful first."""
        told = [result for standing, result in self.standings if standing is self.standing]
        return min(told, key=lambda result: worst_harm([result], self.guarantee) or len(HarmKind) + 1, default=None)

    @property
    def sentence(self) -> str:
        """All of it in words, for those who do not see the table."""
        if self.standing is Standing.UNTRIED:
            return f"untried: {self.why_untried}"
        harm = f" ({self.word})" if self.harm is not None else ""
        return f"{self.standing}{harm}, {self.kept} of {self.decided} cases passed, {self.open} not decided"

    @property
    def alike(self) -> dict[tuple[Standing, str], list[str]]:
        """The cases that need no look, by standing and reason."""
        found: dict[tuple[Standing, str], list[str]] = defaultdict(list)
        for standing, result in self.standings:
            if standing not in NEEDS_A_LOOK:
                why = result.reason.sentence if result.reason and standing is not Standing.KEPT else ""
                found[standing, why].append(result.case)
        for case in self.left_out:
            found[Standing.UNTRIED, why_left_out(self.column, case)].append(case)
        return {key: sorted(found[key]) for key in sorted(found, key=lambda key: (ORDER.index(key[0]), key[1]))}

    @property
    def in_short(self) -> list[tuple[Standing, str, str]]:
        """The same with the cases as text; the most of them as a number, since the page lists all cases once."""
        alike = self.alike
        most = max(alike.values(), key=len, default=[])
        number = f"{'all' if len(most) == self.cases else 'the other'} {len(most)}"
        return [
            (standing, why, number if cases is most and len(most) > FEW else ", ".join(cases))
            for (standing, why), cases in alike.items()
        ]

    @property
    def why_untried(self) -> str:
        """The reason that most of its cases have."""
        reasons = [result.reason.sentence for _, result in self.standings if result.reason]
        reasons += [why_left_out(self.column, case) for case in self.left_out]
        return max(reasons, key=reasons.count, default="no case of this suite decides it")


@dataclass(frozen=True)
class Row:
    """One guarantee with a cell a column."""

    guarantee: Guarantee
    cells: tuple[Cell, ...]
    cases: tuple[str, ...]

    @property
    def standings(self) -> tuple[Standing, ...]:
        return tuple(cell.standing for cell in self.cells)

    @property
    def sections(self) -> list[list[Cell]]:
        """The cells, those together of which the same is to be said."""
        found: dict[object, list[Cell]] = {}
        for cell in self.cells:
            looks = tuple(
                (standing, result.case, result.reason and result.reason.sentence)
                for standing, result in cell.standings
                if standing in NEEDS_A_LOOK
            )
            alike = tuple((key, *cases) for key, cases in cell.alike.items())
            found.setdefault((cell.word, looks, alike), []).append(cell)
        return list(found.values())

    @property
    def differs(self) -> bool:
        """Whether the targets are told apart by it."""
        return len(set(self.standings)) > 1

    @property
    def harm(self) -> HarmKind | None:
        """The worst of the row."""
        return min((cell.harm for cell in self.cells if cell.harm is not None), default=None)

    @property
    def needs_a_look(self) -> bool:
        return any(standing in NEEDS_A_LOOK for standing in self.standings)


def why_left_out(column: Column, case: str) -> str:
    """Why a case says nothing of a guarantee here, though it does elsewhere."""
    if case in column.by_case:  # the closing look names a guarantee only where it is broken
        return "the case was met, and saw nothing of this"
    return column.left_out.get(case, "not in this run")


def matrix(columns: Sequence[Column]) -> list[Row]:
    """A row for each guarantee of the registry and each that the runs name besides, in the order of the registry."""
    known = dict(registry())
    for column in columns:
        for name in (name for result in column.results for name in result.guarantees):
            if name not in known and FIT_FOR_A_FILE.fullmatch(name):
                known[name] = _foreign(name)
    found = [_deciding(column) for column in columns]
    cases = _cases_by_guarantee(columns)
    for name, named in cases.items():  # an anomaly may speak of a guarantee that its case does not name
        named.update(dict.fromkeys(result.case for some in found for _, result in some.get(name, ())))
    return [_row(entry, columns, found, cases.get(name, {})) for name, entry in known.items()]


def _foreign(name: str) -> Guarantee:
    return Guarantee(
        name, "A guarantee of another package; it is not installed here.", "must", "MUST", "", "", area=FOREIGN_AREA
    )


def _row(entry: Guarantee, columns: Sequence[Column], found: Sequence[Deciding], cases: dict[str, None]) -> Row:
    cells = (
        _cell(column, entry.id, some.get(entry.id, []), cases) for column, some in zip(columns, found, strict=True)
    )
    return Row(entry, tuple(cells), tuple(cases))


def _cell(column: Column, guarantee: str, standings: list[tuple[Standing, CaseResult]], cases: dict[str, None]) -> Cell:
    met = {result.case for _, result in standings}
    return Cell(column, tuple(standings), tuple(case for case in cases if case not in met), guarantee)


def _deciding(column: Column) -> Deciding:
    """Guarantee -> the cases of a run that speak of it, each with what it says."""
    found: Deciding = {}
    for result in column.by_case.values():
        for name, standing in standings_of(result):
            found.setdefault(name, []).append((standing, result))
    return found


def standings_of(result: CaseResult) -> Iterator[tuple[str, Standing]]:
    """What a case says of each guarantee."""
    standing = standing_of(result)
    named = {anomaly.guarantee for anomaly in result.anomalies if anomaly.attribution == "broker"}
    by_anomaly = bool(named) and all(failure.signature.startswith("anomaly:") for failure in result.failures)
    if standing not in FAILED or not by_anomaly:
        yield from ((name, standing) for name in result.guarantees)
        return
    yield from ((name, standing if name in named else Standing.UNDECIDED) for name in result.guarantees)
    yield from ((name, standing) for name in sorted(named - set(result.guarantees)))


def _cases_by_guarantee(columns: Sequence[Column]) -> dict[str, dict[str, None]]:
    """Guarantee -> the cases that decide it, as far as any of the runs knows of them."""
    found: dict[str, dict[str, None]] = {}
    for column in columns:
        named = [(info.case, info.guarantees) for info in column.run.cases]
        named += [(result.case, result.guarantees) for result in column.by_case.values()]
        for case, guarantees in named:
            for name in guarantees:
                found.setdefault(name, {}).setdefault(case)
    return found


def areas(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows by the area of their guarantee."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(area_title(row.guarantee.area), []).append(row)
    return found

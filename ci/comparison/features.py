"""Claims beside verdicts: what a target says that it has, what it offers, and what its cases came to.

transactions   kafka claimed ✓ 40/40    mine claimed ✗ isolation 31/40    other disclaimed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from brokertrial.ci.comparison.column import Column
from brokertrial.ci.comparison.matrix import Cell
from brokertrial.ci.comparison.standing import Standing, standing_of
from brokertrial.suites.case import by_id
from brokertrial.suites.running.claims import CLAIMS, REQUIRES
from brokertrial.suites.running.features import FEATURES, of_case


@dataclass(frozen=True)
class FeatureCell:
    """One feature of one target."""

    claim: str
    cell: Cell
    broken_promise: str = ""
    """Why a claim, or a requirement, is broken whatever the cases say."""

    @cached_property
    def standing(self) -> Standing:
        """A broken claim outranks what the cases came to."""
        return Standing.BROKEN if self.broken_promise else self.cell.standing


@dataclass(frozen=True)
class FeatureRow:
    """One feature, a cell a column."""

    feature: str
    cells: tuple[FeatureCell, ...]


def features(columns: Sequence[Column]) -> list[FeatureRow]:
    """A row for each feature that a target may claim and that any run decided, offered or claimed."""
    rows = [FeatureRow(name, tuple(_cell(name, column) for column in columns)) for name in FEATURES]
    return [row for row in rows if any(each.claim or each.cell.standings or each.broken_promise for each in row.cells)]


def _cell(feature: str, column: Column) -> FeatureCell:
    mine = [result for name, result in column.by_case.items() if feature in _features_of(name.partition("@")[0])]
    promises = [column.promises.get(CLAIMS + feature), column.promises.get(REQUIRES + feature)]
    broken = "; ".join(each.reason.sentence for each in promises if each is not None and each.reason)
    cell = Cell(column, tuple((standing_of(result), result) for result in mine))
    return FeatureCell(_claim(feature, column), cell, broken)


@cache
def _features_of(case: str) -> frozenset[str]:
    known = by_id().get(case)
    return frozenset(of_case(case, known.apis if known else ()))


def _claim(feature: str, column: Column) -> str:
    if (claimed := column.run.claims.get(feature)) is not None:
        return "claimed" if claimed else "disclaimed"
    return "claimed" if CLAIMS + feature in column.promises else ""

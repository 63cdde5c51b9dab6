"""All that is said of some columns, computed once: pages and JSON are made from it alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from brokertrial.ci.comparison.column import Column
from brokertrial.ci.comparison.differences import Step, steps
from brokertrial.ci.comparison.evidence import Article, Picture, articles
from brokertrial.ci.comparison.fairness import Unlike, unlike
from brokertrial.ci.comparison.features import FeatureRow, features
from brokertrial.ci.comparison.matrix import Row, areas, matrix
from brokertrial.ci.comparison.over_time import ProductHistory, over_time
from brokertrial.ci.comparison.price import Prices, prices
from brokertrial.ci.comparison.severity import HarmRow, by_harm
from brokertrial.ci.comparison.standing import Standing
from brokertrial.ci.comparison.survival import FaultRow, never_tried, survival
from brokertrial.ci.reports.causes import HarmKind
from brokertrial.faults.kinds import all_kinds


@dataclass(frozen=True)
class Comparison:
    """The tables, and the evidence behind them."""

    columns: tuple[Column, ...]
    unlike: tuple[Unlike, ...]
    rows: tuple[Row, ...]
    harms: tuple[HarmRow, ...]
    features: tuple[FeatureRow, ...]
    faults: tuple[FaultRow, ...]
    faults_never_tried: tuple[str, ...]
    prices: Prices
    steps: tuple[Step, ...]
    histories: tuple[ProductHistory, ...]
    articles: Mapping[str, list[Article]]

    @cached_property
    def asked(self) -> list[Row]:
        """The guarantees that some case of these runs is about."""
        return [row for row in self.rows if row.cases]

    @cached_property
    def areas(self) -> dict[str, list[Row]]:
        return areas(self.asked)

    @cached_property
    def without_a_case(self) -> list[Row]:
        """Guarantees of the registry for which these runs have no case."""
        return [row for row in self.rows if not row.cases]

    def counts(self, place: int) -> Counter[Standing]:
        """How many of the guarantees stand how, on one target."""
        return Counter(row.cells[place].standing for row in self.asked)

    def worst_harm(self, place: int) -> HarmKind | None:
        """The worst that one target did to what must be kept: a cell of its column has it."""
        broken = (row.cells[place] for row in self.asked if row.cells[place].standing is Standing.BROKEN)
        return min((cell.harm for cell in broken if cell.harm is not None), default=None)

    @cached_property
    def one_day(self) -> bool:
        """Whether all runs are of one day, which then need not stand in each head."""
        return len({column.day for column in self.columns}) == 1

    def untried(self, place: int) -> dict[str, list[Row]]:
        """Why guarantees were not tried on one target: reason -> rows, most rows first."""
        found: dict[str, list[Row]] = {}
        for row in self.asked:
            if row.cells[place].standing is Standing.UNTRIED:
                found.setdefault(row.cells[place].why_untried, []).append(row)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def compared(
    columns: Sequence[Column],
    pictures: Mapping[tuple[str, str], Picture] | None = None,
    baseline: Column | None = None,
) -> Comparison:
    """Everything, from the columns alone."""
    rows, faults = matrix(columns), survival(columns)
    return Comparison(
        columns=tuple(columns),
        unlike=tuple(unlike(columns)),
        rows=tuple(rows),
        harms=tuple(by_harm(columns)),
        features=tuple(features(columns)),
        faults=tuple(faults),
        faults_never_tried=tuple(never_tried(faults, sorted(all_kinds()))),
        prices=prices(columns, baseline),
        steps=tuple(steps(columns)),
        histories=tuple(over_time(columns)),
        articles=articles(columns, pictures or {}),
    )

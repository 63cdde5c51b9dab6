"""One product over its runs: the cases that were ever anything but kept, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brokertrial.ci.comparison.column import Column, in_order
from brokertrial.ci.comparison.standing import NEEDS_A_LOOK, Standing, standing_of


@dataclass(frozen=True)
class CaseOverTime:
    """What a case came to in each run, the oldest first."""

    case: str
    standings: tuple[Standing, ...]

    @property
    def since(self) -> int | None:
        """The place of the run since which it has failed without a break; None where the last one did not fail."""
        place = None
        for number in range(len(self.standings) - 1, -1, -1):
            if self.standings[number] not in (Standing.BROKEN, Standing.WARNING):
                break
            place = number
        return place


@dataclass(frozen=True)
class ProductHistory:
    """The runs of one product, and the cases worth a line."""

    product: str
    columns: tuple[Column, ...]
    cases: tuple[CaseOverTime, ...]


def over_time(columns: Sequence[Column]) -> list[ProductHistory]:
    """Each product of which there are two runs or more."""
    products: dict[str, list[Column]] = {}
    for column in columns:
        products.setdefault(column.product, []).append(column)
    return [_history(product, in_order(some)) for product, some in products.items() if len(some) > 1]


def _history(product: str, columns: Sequence[Column]) -> ProductHistory:
    names = dict.fromkeys(case for column in columns for case in column.by_case)
    lines = [CaseOverTime(name, tuple(_standing(column, name) for column in columns)) for name in sorted(names)]
    told = [line for line in lines if any(standing in NEEDS_A_LOOK for standing in line.standings)]
    return ProductHistory(product, tuple(columns), tuple(told))


def _standing(column: Column, case: str) -> Standing:
    result = column.by_case.get(case)
    return standing_of(result) if result else Standing.UNTRIED

"""Which exchanges of a long case a report shows: the first ones, and those before what is at fault.

What is asked again and again until it is so fills no lines: an exchange like one shortly before it is left out, all
bytes but the correlation id being the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brokertrial.ci.reports.exchange_steps import ExchangeStep

MOST = 30
FIRST = 5
IN_TURN = 4
"""So many things are asked in turn, such as the same of each node."""


@dataclass(frozen=True)
class Gap:
    """Exchanges that are left out."""

    count: int
    repeated: bool
    """Each was like one that is shown above it."""

    @property
    def text(self) -> str:
        what = f"{self.count} exchange{'s' * (self.count != 1)}"
        return f"{what}, each the same as one above" if self.repeated else what


def shown(steps: Sequence[ExchangeStep], most: int = MOST) -> list[ExchangeStep | Gap]:
    """The steps that fit, and gaps in the stead of others."""
    if len(steps) <= most:
        return list(steps)
    alike = _repeated(steps)
    left = [index for index in range(len(steps)) if index not in alike]
    kept = _nearest(steps, left, most)
    lines: list[ExchangeStep | Gap] = []
    for index, step in enumerate(steps):
        last = lines[-1] if lines else None
        if index in kept:
            lines.append(step)
        elif isinstance(last, Gap):
            lines[-1] = Gap(last.count + 1, last.repeated and index in alike)
        else:
            lines.append(Gap(1, index in alike))
    return lines


def _repeated(steps: Sequence[ExchangeStep]) -> set[int]:
    """Those that are like one of the few before them, and are neither at fault nor the last of their kind."""
    found = set()
    for index, step in enumerate(steps):
        before = {_of(one) for one in steps[max(0, index - IN_TURN) : index]}
        after = {_of(one) for one in steps[index + 1 : index + 1 + IN_TURN]}
        if not step.note and step.content and _of(step) in before and _of(step) in after:
            found.add(index)
    return found


def _of(step: ExchangeStep) -> tuple[str, str, int]:
    return step.connection, step.node, step.content


def _nearest(steps: Sequence[ExchangeStep], left: Sequence[int], most: int) -> set[int]:
    """The first of those that are left, and those nearest to what is at fault, counted among what is left."""
    faults = [place for place, index in enumerate(left) if steps[index].note] or [len(left) - 1]
    by_distance = sorted(range(len(left)), key=lambda place: min(abs(place - fault) for fault in faults))
    return {*left[:FIRST], *(left[place] for place in by_distance[: most - FIRST])}

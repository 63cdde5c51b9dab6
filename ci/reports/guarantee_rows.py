"""The matrix of report.html: each guarantee with the cases that decide it, by area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from brokertrial.ci.reports.cards import KINDS, Card
from brokertrial.suites.guarantees import Guarantee, registry

ATTENTION = ("fail", "warned", "inconclusive")


@dataclass(frozen=True)
class GuaranteeRow:
    """One guarantee, with the cases that decide it."""

    guarantee: Guarantee
    cards: list[Card]

    @property
    def kinds(self) -> str:
        return " ".join(sorted({card.kind for card in self.cards}))


@dataclass(frozen=True)
class GuaranteeArea:
    """The guarantees of one area; open when something in it needs a look."""

    name: str
    rows: list[GuaranteeRow]

    @property
    def open(self) -> bool:
        return any(card.kind in ATTENTION for row in self.rows for card in row.cards)

    @cached_property
    def summary(self) -> str:
        kinds = [card.kind for card in {card.anchor: card for row in self.rows for card in row.cards}.values()]
        return ", ".join(f"{kinds.count(kind)} {word}" for kind, (_, word) in KINDS.items() if kind in kinds)


def guarantee_areas(cards: Sequence[Card]) -> list[GuaranteeArea]:
    """The areas in the order of the registry."""
    deciding: dict[str, list[Card]] = {}
    for card in cards:
        for name in card.result.guarantees:
            deciding.setdefault(name, []).append(card)
    areas: dict[str, list[GuaranteeRow]] = {}
    for entry in registry().values():
        if deciders := deciding.get(entry.id):
            areas.setdefault(entry.area, []).append(GuaranteeRow(entry, deciders))
    return [GuaranteeArea(name, rows) for name, rows in areas.items()]

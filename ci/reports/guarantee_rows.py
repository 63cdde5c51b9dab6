"""The matrix of report.html: each guarantee with the cases that decide it, by area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from brokertrial.ci.reports.cards import KINDS, Card
from brokertrial.suites.guarantees import Guarantee, registry

ATTENTION = ("fail", "warned", "inconclusive")
TITLES = {"groups_848": "groups, KIP-848"}
"""Areas whose name in the registry is no word."""


def area_title(area: str) -> str:
    """An area as a page calls it."""
    return TITLES.get(area, area)


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
    """The guarantees of one area, and how the cases ended that decide them."""

    name: str
    rows: list[GuaranteeRow]

    @property
    def title(self) -> str:
        return area_title(self.name)

    @property
    def deciding(self) -> str:
        """`3 guarantees, 4 cases`: a case may decide several, and be of another area."""
        counts = ((len(self.rows), "guarantee"), (len(self._kinds), "case"))
        return ", ".join(f"{count} {what}{'s' * (count != 1)}" for count, what in counts)

    @property
    def counts(self) -> list[tuple[str, str]]:
        """How many of the cases ended so, in words, with the class of what needs a look."""
        kinds = self._kinds
        return [
            (kind if kind in ATTENTION else "", f"{kinds.count(kind)} {word}")
            for kind, (_, word) in KINDS.items()
            if kind in kinds
        ]

    @cached_property
    def _kinds(self) -> list[str]:
        """Of every case that decides one of them, once."""
        return [card.kind for card in {card.anchor: card for row in self.rows for card in row.cards}.values()]


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

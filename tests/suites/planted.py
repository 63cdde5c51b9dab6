"""The planted bugs that cases of one setting must show, each with the case and how it is planted."""

from __future__ import annotations

from collections.abc import Collection

from brokertrial.suites.case import Case
from brokertrial.suites.proving import mutants
from brokertrial.suites.proving.mutants import Mutant
from brokertrial.suites.result import Outcome


def shown_by(cases: Collection[Case]) -> list[tuple[str, Case, Mutant]]:
    """All that these cases name, but for bugs that end the process of the broker: it is that of the tests."""
    return [
        (word, case, mutant)
        for mutant in mutants.mutants().values()
        for word, case in mutants.catchers(mutant.id)
        if case in cases and "died" not in mutant.shows
    ]


BROAD, FEW = 7, 3
"""A case of so many guarantees names at each failure no more than so few of them."""


def named_too_broadly(case: Case, outcome: Outcome) -> list[str]:
    """Failures of a broad case that do not say what they break; harmed records say it themselves."""
    if len(case.guarantees) < BROAD:
        return []
    stated = [one for one in outcome.failures if not one.harms]
    return [f"{one.guarantees}: {one.sentence}" for one in stated if not 0 < len(one.guarantees) <= FEW]

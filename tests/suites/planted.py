"""The planted bugs that cases of one setting must show, each with the case and how it is planted."""

from __future__ import annotations

from collections.abc import Collection

from brokertrial.suites.case import Case
from brokertrial.suites.proving import mutants
from brokertrial.suites.proving.mutants import Mutant


def shown_by(cases: Collection[Case]) -> list[tuple[str, Case, Mutant]]:
    """All that these cases name, but for bugs that end the process of the broker: it is that of the tests."""
    return [
        (word, case, mutant)
        for mutant in mutants.mutants().values()
        for word, case in mutants.catchers(mutant.id)
        if case in cases and "died" not in mutant.shows
    ]

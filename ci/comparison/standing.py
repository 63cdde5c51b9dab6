"""What one target is to one promise, in six words: from verdicts of cases to the cell of a table.

broken     a case that decides it failed           outranks everything
warning    a `should` was violated, or the case can only warn
undecided  a case came to no verdict: never green, however many others passed
kept       each case that was decided passed
absent     the target does not offer what it is about, or disclaims it
untried    nothing was asked: left out, not possible on this target, or blocked by another failure
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import CaseResult

NOT_OFFERED = (
    *("not-offered", "unsupported", "disclaimed", "came-later"),
    *("refused-by-settings", "cluster-setting", "too-slow-here"),
)
"""Reasons of the not applicable that say something of the target; all others say that nobody asked."""


class Standing(StrEnum):
    """The worst first: of several, the first one is said."""

    BROKEN = "broken"
    WARNING = "warning"
    UNDECIDED = "undecided"
    KEPT = "kept"
    ABSENT = "absent"
    UNTRIED = "untried"

    @property
    def mark(self) -> str:
        """A sign of its own shape, so that no colour is needed."""
        return MARKS[self]

    @property
    def meaning(self) -> str:
        """The word in a sentence, for legends."""
        return MEANINGS[self]


MARKS = {
    Standing.BROKEN: "✗",
    Standing.WARNING: "!",
    Standing.UNDECIDED: "?",
    Standing.KEPT: "✓",
    Standing.ABSENT: "–",
    Standing.UNTRIED: "∅",
}
MEANINGS = {
    Standing.BROKEN: "a promise that must be kept was violated",
    Standing.WARNING: "a `should` was violated, or the case has not been proven on Apache Kafka in this setting",
    Standing.UNDECIDED: "no verdict: neither cleared nor convicted",
    Standing.KEPT: "no violation was observed; that is not a proof that there is none",
    Standing.ABSENT: "the target does not offer it, or says that it has it not",
    Standing.UNTRIED: "not asked in this run",
}
ORDER = tuple(Standing)
DECIDED = (Standing.BROKEN, Standing.WARNING, Standing.KEPT)
FAILED = (Standing.BROKEN, Standing.WARNING)
NEEDS_A_LOOK = (Standing.BROKEN, Standing.WARNING, Standing.UNDECIDED)


def standing_of(result: CaseResult) -> Standing:
    """That of one case."""
    match result.verdict:
        case Verdict.FAIL:
            return Standing.BROKEN if result.level == "must" else Standing.WARNING
        case Verdict.PASS:
            return Standing.KEPT
        case Verdict.INCONCLUSIVE:
            return Standing.UNDECIDED
    kind = result.reason.kind if result.reason else ""
    return Standing.ABSENT if kind in NOT_OFFERED else Standing.UNTRIED


def worst(standings: Iterable[Standing]) -> Standing:
    """That of several cases together; UNTRIED where there is none."""
    return min(standings, key=ORDER.index, default=Standing.UNTRIED)

"""The exit statuses of every command, and the one of a run: pytest's 0 to 5, then two of our own."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Self

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import CaseResult

NEEDS_A_RECORD = "needs a target that takes a record"
SUITE_KINDS = ("suite", "unwritten")  # reasons that lie with us, or with the machine that we run on


class ExitStatus(IntEnum):
    """A number, and what it means to a user."""

    meaning: str

    def __new__(cls, value: int, meaning: str = "") -> Self:
        status = int.__new__(cls, value)
        status._value_, status.meaning = value, meaning
        return status

    PASSED = 0, "passed"
    FAILED = 1, "a guarantee was violated, or known.toml is out of date"
    INTERRUPTED = 2, "interrupted"
    INTERNAL = 3, "internal error"
    USAGE = 4, "usage error"
    NOTHING_JUDGED = 5, "no case was decided"
    INCONCLUSIVE = 6, "only inconclusive results"
    NOT_READY = 7, "the target never became ready"


WORST_FIRST = (
    ExitStatus.INTERRUPTED,
    ExitStatus.FAILED,
    ExitStatus.USAGE,
    ExitStatus.NOT_READY,
    ExitStatus.INTERNAL,
    ExitStatus.INCONCLUSIVE,
    ExitStatus.PASSED,
    ExitStatus.NOTHING_JUDGED,
)


def is_ours(result: CaseResult) -> bool:
    """Whether an inconclusive case is so for a reason that lies with this suite or with the machine it runs on."""
    return result.reason is not None and result.reason.kind in SUITE_KINDS


def is_untried(result: CaseResult) -> bool:
    """Whether a case was kept back since the target takes no record: a run in which that is forgiven is not green."""
    reason = result.reason
    return (
        result.verdict is Verdict.NOT_APPLICABLE and reason is not None and reason.sentence.startswith(NEEDS_A_RECORD)
    )


def exit_status(results: Iterable[CaseResult], *, interrupted: bool = False, ready: bool = True) -> ExitStatus:
    """A failure outranks all but an interruption; what is inconclusive is never 0; nothing judged is never 0.

    `not applicable` (but for what a sick target kept back) and a case that can only warn judge nothing: alone they
    leave 5. A `should` that failed leaves 0.
    """
    all_of_them = list(results)
    if interrupted:
        return ExitStatus.INTERRUPTED
    if any(result.is_failure for result in all_of_them):
        return ExitStatus.FAILED
    if not ready:
        return ExitStatus.NOT_READY
    unclear = [result for result in all_of_them if result.verdict is Verdict.INCONCLUSIVE]
    if any(map(is_ours, unclear)):
        return ExitStatus.INTERNAL
    if unclear or any(map(is_untried, all_of_them)):
        return ExitStatus.INCONCLUSIVE
    if any(result.verdict in (Verdict.PASS, Verdict.FAIL) and not result.only_warns for result in all_of_them):
        return ExitStatus.PASSED
    return ExitStatus.NOTHING_JUDGED


def worst(statuses: Iterable[int]) -> ExitStatus:
    """One status for runs side by side, by the same rule."""
    return ExitStatus(min(statuses, key=WORST_FIRST.index, default=ExitStatus.NOTHING_JUDGED))

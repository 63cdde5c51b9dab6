"""The exit status of a run: pytest's 0 to 5, then 6 = inconclusive only, 7 = the target never became ready."""

from __future__ import annotations

from collections.abc import Iterable

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import CaseResult

NEEDS_A_RECORD = "needs a target that takes a record"
SUITE_KINDS = ("suite", "unwritten")  # reasons that lie with us, or with the machine that we run on
OK, FAILED, INTERRUPTED, OUR_FAULT, USAGE, NOTHING_JUDGED, INCONCLUSIVE, NOT_READY = range(8)
WORST_FIRST = (INTERRUPTED, FAILED, USAGE, NOT_READY, OUR_FAULT, INCONCLUSIVE, OK, NOTHING_JUDGED)


def is_untried(result: CaseResult) -> bool:
    """Whether a case was kept back since the target takes no record: a run in which that is forgiven is not green."""
    reason = result.reason
    return (
        result.verdict is Verdict.NOT_APPLICABLE and reason is not None and reason.sentence.startswith(NEEDS_A_RECORD)
    )


def exit_status(results: Iterable[CaseResult], *, interrupted: bool = False, ready: bool = True) -> int:
    """A failure outranks all but an interruption; what is inconclusive is never 0; nothing judged is never 0.

    `not applicable` (but for what a sick target kept back), and a `should` that failed, judge nothing against the
    broker: alone they leave 5 and 0.
    """
    all_of_them = list(results)
    if interrupted:
        return INTERRUPTED
    if any(result.is_failure for result in all_of_them):
        return FAILED
    if not ready:
        return NOT_READY
    unclear = [result for result in all_of_them if result.verdict is Verdict.INCONCLUSIVE]
    if any(result.reason is not None and result.reason.kind in SUITE_KINDS for result in unclear):
        return OUR_FAULT
    if unclear or any(map(is_untried, all_of_them)):
        return INCONCLUSIVE
    if any(result.verdict in (Verdict.PASS, Verdict.FAIL) for result in all_of_them):
        return OK
    return NOTHING_JUDGED


def worst(statuses: Iterable[int]) -> int:
    """One status for runs side by side, by the same rule."""
    return min(statuses, key=WORST_FIRST.index, default=NOTHING_JUDGED)

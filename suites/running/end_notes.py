"""What a run says once at its end, besides its verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from brokertrial.suites.result import CaseResult
from brokertrial.suites.targets import Target
from brokertrial.suites.targets.effects import OUT_OF_REACH, still_listening


def end_notes(target: Target | None, results: Sequence[CaseResult]) -> tuple[str, ...]:
    """A sentence on faults that did not reach the broker, and one on each port that is still in use after the stop."""
    missed = [result for result in results if result.reason is not None and result.reason.kind == OUT_OF_REACH]
    left = still_listening(target) if target is not None else ()
    if not missed:
        return left
    first = missed[0].reason.sentence if missed[0].reason else ""
    cases = "case is" if len(missed) == 1 else "cases are"
    return (f"{len(missed)} {cases} inconclusive because a fault did not reach the broker ({first})", *left)

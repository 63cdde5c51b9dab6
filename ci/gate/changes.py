"""What differs from the last good run: `broken since`, `mended since`, and what is not decided any more.

last good run   now
pass            fail             broken since
fail            pass             mended since
pass            inconclusive     undecided since
pass            not applicable   lost: the target has ceased to offer it, unless somebody disclaimed it
pass            (not run)        not run: another profile, budget or selection
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import CaseResult

STATED = ("disclaimed", "came-later")
"""Reasons of the not applicable that somebody stated, in `[claims]`."""


@dataclass(frozen=True)
class Changes:
    """The differences, each as the result of now; `not_run` are the names of cases that passed then."""

    broken: tuple[CaseResult, ...] = ()
    mended: tuple[CaseResult, ...] = ()
    undecided: tuple[CaseResult, ...] = ()
    lost: tuple[CaseResult, ...] = ()
    not_run: tuple[str, ...] = ()

    @classmethod
    def between(cls, last: Iterable[CaseResult], now: Sequence[CaseResult]) -> Changes:
        """The differences of two runs; a case that only one of them met says nothing but `not_run`."""
        before = {result.case: result.verdict for result in last}

        def of(was: Verdict, become: Verdict) -> tuple[CaseResult, ...]:
            return tuple(each for each in now if each.verdict is become and before.get(each.case) is was)

        met = {result.case for result in now}
        return cls(
            broken=of(Verdict.PASS, Verdict.FAIL),
            mended=of(Verdict.FAIL, Verdict.PASS),
            undecided=of(Verdict.PASS, Verdict.INCONCLUSIVE),
            lost=tuple(filter(_is_lost, of(Verdict.PASS, Verdict.NOT_APPLICABLE))),
            not_run=tuple(sorted(case for case, was in before.items() if was is Verdict.PASS and case not in met)),
        )


def _is_lost(result: CaseResult) -> bool:
    """A case in a situation may find nothing to disturb; a case as it is written applies unless the target changed."""
    return "@" not in result.case and not (result.reason is not None and result.reason.kind in STATED)

"""The exit status of a run, and the line that counts every verdict."""

from __future__ import annotations

import msgspec
import pytest

from checkers.verdict import Verdict
from ci.tally import Tally
from suites.result import CaseResult, Reason


def made(verdict: Verdict, kind: str = "", level: str = "must") -> CaseResult:
    reason = Reason(kind, "because") if kind else None
    return CaseResult("a/b", "It MUST.", ("offs-002",), level, verdict, reason)


PASS, FAIL = made(Verdict.PASS), made(Verdict.FAIL)
UNSURE, OURS = made(Verdict.INCONCLUSIVE, "no-hit"), made(Verdict.INCONCLUSIVE, "suite")
ABSENT, WARNED = made(Verdict.NOT_APPLICABLE, "not-offered"), made(Verdict.FAIL, "statement", "should")


@pytest.mark.parametrize(
    ("results", "base", "status"),
    [
        ([PASS], 0, 0),
        ([PASS, FAIL], 1, 1),
        ([PASS, FAIL, UNSURE], 1, 1),
        ([FAIL, OURS], 1, 1),
        ([PASS, UNSURE], 6, 6),
        ([PASS, OURS], 3, 3),
        ([PASS, OURS], 0, 3),
        ([ABSENT], 5, 5),
        ([ABSENT], 0, 5),
        ([], 0, 5),
        ([PASS, ABSENT], 0, 0),
        ([WARNED], 0, 0),
        ([PASS], 2, 2),
        ([FAIL], 2, 2),
        ([PASS, FAIL], 7, 1),
        ([PASS], 7, 7),
        ([], 7, 7),
        ([], 4, 4),
        ([PASS], 3, 3),
    ],
)
def test_a_failure_outranks_inconclusive_and_nothing_judged_is_never_green(
    results: list[CaseResult], base: int, status: int
) -> None:
    assert Tally.of(results).status(base) == status


def test_the_last_line_counts_every_verdict_and_splits_by_reason() -> None:
    other = msgspec.structs.replace(ABSENT, reason=Reason("missing-capability", "cannot be killed"))
    assert Tally.of([PASS, PASS, FAIL, WARNED, UNSURE, ABSENT, ABSENT, other]).line() == (
        "2 passed, 1 failed, 1 warned (a `should` that does not hold), 1 inconclusive (no-hit 1), "
        "3 not applicable (not-offered 2, missing-capability 1)"
    )

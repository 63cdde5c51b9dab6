"""The exit status of a run, and the line that counts every verdict."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.reports.tally import Tally
from brokertrial.suites.result import Attempt, CaseResult, Reason


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
        "2 passed, 1 failed, 1 warning, 1 inconclusive (no-hit 1), "
        "3 of 7 musts decided, 3 not applicable (not-offered 2, missing-capability 1)"
    )


def test_what_was_disclaimed_or_not_permitted_is_named_once_in_the_last_line() -> None:
    disclaimed = msgspec.structs.replace(ABSENT, reason=Reason("disclaimed", "disclaimed: compaction"))
    forbidden = msgspec.structs.replace(ABSENT, reason=Reason("no-permission", "no permission: CreatePartitions"))
    line = Tally.of([PASS, disclaimed, disclaimed, forbidden]).line()
    assert line.endswith("(disclaimed 2, no-permission 1); disclaimed: compaction; no permission: CreatePartitions")


def test_a_broken_promise_is_no_must_that_was_decided() -> None:
    tally = Tally.of([PASS, msgspec.structs.replace(FAIL, case="requires/groups")])
    assert (len(tally.decided), len(tally.musts), tally.status()) == (1, 1, 1)


@pytest.mark.parametrize(
    ("results", "least", "status"),
    [
        ([PASS], 100, 0),
        ([PASS, ABSENT], 50, 0),
        ([PASS, ABSENT], 51, 6),
        ([PASS, PASS, UNSURE], 10, 6),
        ([PASS, FAIL, ABSENT], 90, 1),
        ([WARNED], 100, 0),
        ([ABSENT], 1, 5),
    ],
)
def test_too_few_musts_decided_are_never_all_clear(
    results: list[CaseResult], least: float, status: int, tmp_path: Path
) -> None:
    state = RunState(tmp_path, results=results, min_decided=least)
    assert state.status == status
    told = status == 6 and UNSURE not in results
    assert (state.meaning == "too few musts decided: 50.0 %, --min-decided 51") == told


def test_the_last_line_says_how_many_cases_needed_more_than_one_attempt() -> None:
    tries = (Attempt(1, Verdict.INCONCLUSIVE, Reason("no-hit", "x"), "h"), Attempt(2, Verdict.PASS, None, "h~2"))
    again = msgspec.structs.replace(PASS, attempts=tries)
    assert Tally.of([PASS, again]).line().endswith("1 case needed more than one attempt")
    assert Tally.of([again, again]).line().endswith("2 cases needed more than one attempt")
    assert "attempt" not in Tally.of([PASS]).line()

"""The exit status, as a truth table."""

import itertools

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.exit_status import exit_status
from brokertrial.suites.result import ONLY_WARNS, CaseResult, Reason

PASS = CaseResult("a/pass", "", (), "must", Verdict.PASS)
FAIL = CaseResult("a/fail", "", (), "must", Verdict.FAIL)
WARNS = CaseResult("a/should", "", (), "should", Verdict.FAIL)
UNPROVEN = CaseResult("a/unproven", "", (), "should", Verdict.FAIL, warnings=(f"not proven: {ONLY_WARNS}",))
UNCLEAR = CaseResult("a/unclear", "", (), "must", Verdict.INCONCLUSIVE, Reason("no-hit", ""))
OURS = CaseResult("a/ours", "", (), "must", Verdict.INCONCLUSIVE, Reason("suite", ""))
SICK = Reason("needs", "needs a target that takes a record, which failed in a/b")
UNTRIED = CaseResult("a/untried", "", (), "must", Verdict.NOT_APPLICABLE, SICK)
ABSENT = CaseResult("a/absent", "", (), "must", Verdict.NOT_APPLICABLE, Reason("not-offered", ""))


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([], 5),
        ([ABSENT], 5),
        ([PASS], 0),
        ([PASS, ABSENT], 0),
        ([WARNS], 0),
        ([PASS, WARNS], 0),
        ([UNPROVEN], 5),
        ([UNPROVEN, ABSENT], 5),
        ([UNPROVEN, PASS], 0),
        ([UNPROVEN, UNCLEAR], 6),
        ([FAIL], 1),
        ([PASS, FAIL], 1),
        ([FAIL, UNCLEAR], 1),
        ([FAIL, OURS], 1),
        ([UNCLEAR], 6),
        ([PASS, UNCLEAR], 6),
        ([UNCLEAR, ABSENT], 6),
        ([UNTRIED], 6),
        ([PASS, UNTRIED], 6),
        ([FAIL, UNTRIED], 1),
        ([OURS], 3),
        ([PASS, OURS], 3),
        ([OURS, UNCLEAR], 3),
    ],
)
def test_what_the_verdicts_make(results, status):
    for order in itertools.permutations(results):
        assert exit_status(order) == status


@pytest.mark.parametrize("results", [[], [PASS], [FAIL], [OURS]])
def test_an_interrupted_run_is_2_whatever_it_found(results):
    assert exit_status(results, interrupted=True) == 2


def test_a_target_that_never_served_is_7_unless_something_failed_before():
    assert exit_status([], ready=False) == 7
    assert exit_status([PASS], ready=False) == 7
    assert exit_status([FAIL], ready=False) == 1


def test_only_an_unmixed_pass_is_0():
    for pair in itertools.product([PASS, FAIL, UNCLEAR, OURS, ABSENT], repeat=2):
        green = exit_status(pair) == 0
        assert green == (PASS in pair and all(result in (PASS, ABSENT) for result in pair))

"""The gate's decision: a table of what must come of what, and laws over drawn results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.gate.decision import Decision, decide, unexplained
from brokertrial.ci.gate.policy import Policy
from brokertrial.ci.reports.known import KnownFailures
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.reports.tally import Tally
from brokertrial.suites.exit_status import NEEDS_A_RECORD, ExitStatus, exit_status
from brokertrial.suites.result import CaseResult, Reason
from tests.ci.gate.made import PROVEN, TODAY, TOMORROW, YESTERDAY, absent, failed, known, passed, result, unsure

A, B = "offsets/a", "transactions/b"
NONE = KnownFailures()
KNOWN_A = known((A, "wrong"))
KEPT_BACK = msgspec.structs.replace(absent(B), reason=Reason("needs", f"{NEEDS_A_RECORD}, which failed in x"))
UNPROVEN = msgspec.structs.replace(failed(A, level="should"), proof=None)


def decided(
    results: Sequence[CaseResult], baseline: KnownFailures = NONE, policy: Policy | None = None, **others: object
) -> Decision:
    return decide(results, baseline, policy or Policy(), TODAY, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("results", "baseline", "policy", "status"),
    [
        # failures
        ([passed(A)], NONE, Policy(), 0),
        ([passed(A), failed(B)], NONE, Policy(), 1),
        ([failed(A), unsure(B)], NONE, Policy(inconclusive=5), 1),
        ([failed(A)], KNOWN_A, Policy(), 0),
        ([failed(A, "another")], KNOWN_A, Policy(), 1),
        ([failed(A), failed(B)], KNOWN_A, Policy(), 1),
        # levels and areas
        ([passed(A), failed(B, level="should")], NONE, Policy(), 0),
        ([passed(A), failed(B, level="should")], NONE, Policy(block=("must", "should")), 1),
        ([passed(A), failed(B, level="should")], NONE, Policy(areas={"transactions": ("must", "should")}), 1),
        ([passed(A), failed(B, level="should")], NONE, Policy(areas={"offsets": ("must", "should")}), 0),
        ([passed(A), failed(B)], NONE, Policy(areas={"transactions": ()}), 0),
        ([passed(B), UNPROVEN], NONE, Policy(block=("must", "should")), 0),
        # the baseline
        ([passed(A)], KNOWN_A, Policy(), 1),
        ([passed(A)], KNOWN_A, Policy(mended="warn"), 0),
        ([unsure(A), passed(B)], KNOWN_A, Policy(inconclusive=1), 0),
        ([failed(A)], known((A, "wrong", TOMORROW)), Policy(), 0),
        ([failed(A)], known((A, "wrong", TODAY)), Policy(), 1),
        ([passed(B)], known((A, "wrong", YESTERDAY)), Policy(mended="warn"), 1),
        # inconclusive
        ([passed(A), unsure(B)], NONE, Policy(), 6),
        ([passed(A), unsure(B)], NONE, Policy(inconclusive=1), 0),
        ([passed(A), unsure(B), unsure("x/y")], NONE, Policy(inconclusive=1), 6),
        ([unsure(B)], NONE, Policy(inconclusive=1), 5),
        ([passed(A), unsure(B, "suite")], NONE, Policy(inconclusive=9), 3),
        ([passed(A), KEPT_BACK], NONE, Policy(inconclusive=9), 6),
        # nothing, or too little
        ([], NONE, Policy(), 5),
        ([absent(A)], NONE, Policy(), 5),
        ([passed(A), absent(B)], NONE, Policy(min_decided=50), 0),
        ([passed(A), absent(B)], NONE, Policy(min_decided=51), 6),
    ],
)
def test_the_status_of_the_gate(
    results: list[CaseResult], baseline: KnownFailures, policy: Policy, status: int
) -> None:
    assert decided(results, baseline, policy).status == status


@pytest.mark.parametrize(
    ("last", "now", "policy", "status"),
    [
        ([passed(A), passed(B)], [passed(A), absent(B)], Policy(), 1),
        ([passed(A), passed(B)], [passed(A), absent(B)], Policy(lost="warn"), 0),
        ([passed(A), passed(B)], [passed(A), absent(B, "disclaimed")], Policy(), 0),
        ([passed(A), absent(B)], [passed(A), absent(B)], Policy(), 0),
        ([passed(A), passed("x/y@stop-1")], [passed(A), absent("x/y@stop-1", "no-effect")], Policy(), 0),
        ([passed(A), passed(B)], [passed(A)], Policy(), 0),
        ([failed(A)], [passed(A)], Policy(), 0),
        ([passed(A)], [failed(A)], Policy(), 1),
    ],
)
def test_a_case_that_passed_and_cannot_be_judged_any_more_blocks(
    last: list[CaseResult], now: list[CaseResult], policy: Policy, status: int
) -> None:
    assert decided(now, NONE, policy, last=last).status == status


def test_what_changed_since_the_last_good_run_is_told_apart() -> None:
    last = [passed("a/broke"), failed("a/mended"), passed("a/undecided"), passed("a/lost"), passed("a/not-run")]
    now = [failed("a/broke"), passed("a/mended"), unsure("a/undecided"), absent("a/lost"), failed("a/new")]
    changes = decided(now, last=last).changes
    told = [[one.case for one in some] for some in (changes.broken, changes.mended, changes.undecided, changes.lost)]
    assert told == [["a/broke"], ["a/mended"], ["a/undecided"], ["a/lost"]]
    assert changes.not_run == ("a/not-run",)


@pytest.mark.parametrize("ended", [ExitStatus.INTERRUPTED, ExitStatus.INTERNAL, ExitStatus.NOT_READY])
def test_a_run_that_did_not_come_to_its_end_is_never_green(ended: ExitStatus) -> None:
    assert decided([passed(A)], ended=ended, error="it went away").status == ended
    assert "it went away" in decided([passed(A)], ended=ended, error="it went away").objections[0].sentence


@pytest.mark.parametrize(
    ("now", "baseline", "policy", "meaning"),
    [
        ([passed(A)], NONE, Policy(), "passed"),
        ([failed(A), failed(B), unsure("x/y")], NONE, Policy(), "2 new failures"),
        ([passed(A), absent(B)], NONE, Policy(), "1 case lost"),
        ([passed(A)], KNOWN_A, Policy(), "1 mended entry in known.toml"),
        ([failed(A)], known((A, "wrong", TODAY)), Policy(), "1 expired entry in known.toml"),
        ([passed(A), unsure("x/y")], NONE, Policy(), "1 inconclusive case"),
        ([passed(A), absent("x/y")], NONE, Policy(min_decided=90), "too few musts decided"),
        ([passed(A), unsure("x/y", "suite")], NONE, Policy(), "1 case met an internal error of the suite"),
        ([absent("x/y")], NONE, Policy(), "no case was decided"),
    ],
)
def test_the_status_is_explained_by_what_led_to_it(
    now: list[CaseResult], baseline: KnownFailures, policy: Policy, meaning: str
) -> None:
    assert decided(now, baseline, policy, last=[passed(A), passed(B)]).meaning == meaning


def test_no_case_was_decided_is_said_only_where_it_is_the_status() -> None:
    assert [one.sentence for one in decided([unsure(A)]).objections] == [f"1 inconclusive case: {A}"]
    assert decided([unsure(A)]).status == ExitStatus.INCONCLUSIVE


def test_a_failure_whose_entry_expired_is_not_new() -> None:
    made = decided([failed(A), failed(B)], known((A, "wrong", YESTERDAY)))
    assert [one.sentence for one in made.objections] == [
        f"1 new failure: {B}",
        f"1 expired entry in known.toml: renew or remove {A} (line 1)",
    ]
    assert [one.case for one in made.new] == [B]
    assert [one.case for one in decided([failed(A, "another")], known((A, "wrong", YESTERDAY))).new] == [A]


def test_what_was_let_through_is_said() -> None:
    policy = Policy(inconclusive=1, areas={"transactions": ()})
    made = decided([passed(A), unsure("x/y"), failed(B)], NONE, policy)
    assert made.is_green
    assert any("1 inconclusive case tolerated (the policy allows 1): x/y" in note for note in made.notes)
    assert any("1 failure that does not block: transactions/b" in note for note in made.notes)


CASES = st.sampled_from([f"{area}/{name}" for area in ("offsets", "transactions", "claims") for name in "abc"])
SIGNATURES = st.sampled_from(["wrong", "another"])
KINDS = {
    Verdict.PASS: [""],
    Verdict.FAIL: ["statement", "died"],
    Verdict.INCONCLUSIVE: ["no-hit", "client", "suite", "interrupted"],
    Verdict.NOT_APPLICABLE: ["not-offered", "disclaimed", "needs"],
}


@st.composite
def drawn_results(draw: st.DrawFn) -> list[CaseResult]:
    """At most one result a case."""
    found = []
    for case in draw(st.lists(CASES, unique=True, max_size=6)):
        verdict = draw(st.sampled_from(list(KINDS)))
        level = draw(st.sampled_from(["must", "must", "should", "may"]))
        made = result(case, verdict, draw(st.sampled_from(KINDS[verdict])), level, draw(SIGNATURES))
        found.append(msgspec.structs.replace(made, proof=draw(st.sampled_from([PROVEN, None]))))
    return found


BASELINES = st.lists(
    st.tuples(CASES, SIGNATURES) | st.tuples(CASES, SIGNATURES, st.sampled_from([YESTERDAY, TOMORROW])),
    unique_by=lambda entry: entry[:2],
    max_size=4,
).map(lambda entries: known(*entries))
LEVELS = st.lists(st.sampled_from(["must", "should", "may"]), unique=True).map(tuple)
POLICIES = st.builds(
    Policy,
    block=LEVELS,
    areas=st.dictionaries(st.sampled_from(["offsets", "transactions"]), LEVELS),
    inconclusive=st.integers(0, 3),
    min_decided=st.sampled_from([0.0, 50.0, 100.0]),
    mended=st.sampled_from(["block", "warn"]),
    lost=st.sampled_from(["block", "warn"]),
)
MANY = settings(max_examples=80, deadline=None)


@MANY
@given(drawn_results(), BASELINES, st.sampled_from([0.0, 50.0, 100.0]))
def test_without_policy_and_last_run_it_is_the_status_of_run(
    results: list[CaseResult], baseline: KnownFailures, least: float
) -> None:
    base = exit_status(results)
    state = RunState(Path(), baseline, TODAY, results=results, min_decided=least)
    status = Tally.of(results, baseline, TODAY).status(base)
    if status == ExitStatus.PASSED and state.shortfall:
        status = ExitStatus.INCONCLUSIVE
    made = decided(results, baseline, Policy(min_decided=least), ended=unexplained(base, results))
    assert made.status == status


@MANY
@given(drawn_results(), BASELINES, POLICIES, drawn_results() | st.none())
def test_green_means_that_nothing_was_left_that_blocks(
    results: list[CaseResult], baseline: KnownFailures, policy: Policy, last: list[CaseResult] | None
) -> None:
    made = decided(results, baseline, policy, last=last)
    if made.is_green:
        tally = made.tally
        assert not tally.failed and not made.expired
        assert len(tally.inconclusive) <= policy.inconclusive
        assert tally.passed or tally.known or tally.warned
        assert not tally.inconclusive or any("tolerated" in note for note in made.notes)
    else:
        assert made.objections and made.status == min(
            (one.status for one in made.objections), key=[2, 1, 4, 7, 3, 6, 0, 5].index
        )


@MANY
@given(drawn_results(), BASELINES, POLICIES, st.randoms(use_true_random=False))
def test_the_order_of_the_results_decides_nothing(
    results: list[CaseResult], baseline: KnownFailures, policy: Policy, random: object
) -> None:
    shuffled = list(results)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert decided(shuffled, baseline, policy).status == decided(results, baseline, policy).status


@MANY
@given(drawn_results(), BASELINES, POLICIES)
def test_a_new_failure_of_a_must_is_red_whatever_else_there_is(
    results: list[CaseResult], baseline: KnownFailures, policy: Policy
) -> None:
    policy = msgspec.structs.replace(policy, block=("must",))
    assert decided([*results, failed("fetch/new")], baseline, policy).status == ExitStatus.FAILED


@MANY
@given(drawn_results(), BASELINES, POLICIES)
def test_one_more_inconclusive_case_never_makes_it_green(
    results: list[CaseResult], baseline: KnownFailures, policy: Policy
) -> None:
    if not decided(results, baseline, policy).is_green:
        assert not decided([*results, unsure("fetch/new")], baseline, policy).is_green


@MANY
@given(drawn_results(), POLICIES)
def test_what_a_first_run_writes_down_is_forgiven_and_no_more(results: list[CaseResult], policy: Policy) -> None:
    first = decided(results, NONE, policy)
    entries = [(one.case, failure.signature) for one in first.tally.failed for failure in one.failures]
    again = decided(results, known(*entries), policy)
    assert again.tally.failed == []
    assert {one.status for one in again.objections} == {
        one.status for one in first.objections if one.status != ExitStatus.FAILED
    } - ({ExitStatus.NOTHING_JUDGED} if entries else set())

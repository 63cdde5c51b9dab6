"""What a comparison says of runs: cells, differences, fairness, faults and prices, from hand-made columns."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.comparison.column import Column, product_of
from brokertrial.ci.comparison.comparison import compared
from brokertrial.ci.comparison.differences import Change, change_of, steps
from brokertrial.ci.comparison.fairness import unlike
from brokertrial.ci.comparison.features import features
from brokertrial.ci.comparison.matrix import matrix, standings_of
from brokertrial.ci.comparison.notes import TargetNotes
from brokertrial.ci.comparison.over_time import over_time
from brokertrial.ci.comparison.price import prices
from brokertrial.ci.comparison.standing import Standing, standing_of, worst
from brokertrial.ci.comparison.survival import NOT_PROVOKED, never_tried, survival
from brokertrial.histories.availability import FaultCost, Profile
from brokertrial.suites.events import CaseInfo, LeftOut, RunFinished, RunStarted
from brokertrial.suites.result import CaseResult, Failure, Reason

MACHINE = {"system": "Linux 6.1", "machine": "x86_64", "cores": "2", "memory": "8 GiB"}
KILL = '{"windows":[{"id":"f1","kind":"kill","target":"leader(t,0)"}],"seed":1}'
CUT = '{"windows":[{"id":"f1","kind":"drop_response","match":{"api":["Produce"],"every":7}}],"seed":1}'
WORD = {
    "pass": (Verdict.PASS, "must", ""),
    "fail": (Verdict.FAIL, "must", "statement"),
    "warn": (Verdict.FAIL, "should", "statement"),
    "unclear": (Verdict.INCONCLUSIVE, "must", "no-hit"),
    "absent": (Verdict.NOT_APPLICABLE, "must", "not-offered"),
    "lacking": (Verdict.NOT_APPLICABLE, "must", "missing-capability"),
    "blocked": (Verdict.NOT_APPLICABLE, "must", "needs"),
}


def result(case: str, word: str, *guarantees: str, schedule: str = "", signature: str = "statement:x") -> CaseResult:
    verdict, level, kind = WORD[word]
    failures = (Failure(signature, "it is 1; it must be 0"),) if verdict is Verdict.FAIL else ()
    reason = Reason(kind, f"because of {kind}") if kind else None
    return CaseResult(
        case, "It MUST.", guarantees, level, verdict, reason, failures=failures, schedule=schedule, seed=5
    )


def column(
    key: str,
    *results: CaseResult,
    target: str = "",
    day: str = "2026-11-21",
    seed: int = 5,
    profile: str = "full",
    machine: dict[str, str] = MACHINE,
    profiles: dict[str, Profile] | None = None,
    left_out: tuple[LeftOut, ...] = (),
    claims: dict[str, bool] | None = None,
    notes: TargetNotes = TargetNotes(match=""),
) -> Column:
    infos = tuple(CaseInfo(r.case, r.statement, r.level, r.guarantees, trial=bool(r.schedule)) for r in results)
    run = RunStarted(
        "runs/x", target or f"target-{key}", "1.0", profile, seed, f"{day}T10:00:00+00:00", 1.0, infos, left_out,
        claims=claims or {},
    )  # fmt: skip
    return Column(
        key=key, place=f"runs/{key}", run=run, end=RunFinished(0), suite_version="0.1.0", host=machine,
        results=results, profiles=profiles or {}, notes=notes, nodes=1, sha256=key * 8,
    )  # fmt: skip


def row(columns: list[Column], guarantee: str):
    return next(row for row in matrix(columns) if row.guarantee.id == guarantee)


def profile(gap_s: float, recovered_s: float | None = 1.0, per_second: float = 100.0) -> Profile:
    cost = FaultCost(
        window="f1", kind="kill", text="kill", begin_s=1, healed_s=2, gap_s=gap_s, recovered_s=recovered_s,
        p99_before_ms=1.0, p99_during_ms=9.0,
    )  # fmt: skip
    return Profile(
        acknowledged=1000, length_s=10, per_second=per_second, p50_ms=1, p90_ms=2, p99_ms=3, p999_ms=4,
        longest_gap_s=gap_s, windows=(cost,),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "standing"),
    [
        ("pass", "kept"),
        ("fail", "broken"),
        ("warn", "warning"),
        ("unclear", "undecided"),
        ("absent", "absent"),
        ("lacking", "untried"),
        ("blocked", "untried"),
    ],
)
def test_the_standing_of_a_case(word: str, standing: str) -> None:
    assert standing_of(result("a/b", word)) == standing


@given(st.lists(st.sampled_from(sorted(WORD)), min_size=1, max_size=6))
def test_a_cell_is_kept_only_if_nothing_is_open(words: list[str]) -> None:
    """Inconclusive is never green, and a failure outranks everything, whatever else there is and in whatever order."""
    cases = [result(f"a/{number}", word, "offs-002") for number, word in enumerate(words)]
    cell = row([column("t1", *cases)], "offs-002").cells[0]
    assert (cell.standing is Standing.BROKEN) == ("fail" in words)
    if cell.standing is Standing.KEPT:
        assert "pass" in words and not {"fail", "warn", "unclear"} & set(words)
    assert cell.standing is row([column("t1", *reversed(cases))], "offs-002").cells[0].standing
    assert 0 <= cell.kept <= cell.decided <= cell.cases == len(words)


def test_what_no_run_asked_is_untried_and_says_why() -> None:
    first = column("t1", result("a/b", "pass", "offs-002"))
    second = column("t2", left_out=(LeftOut("a/b", "not selected"),))
    cells = row([first, second], "offs-002").cells
    assert [cell.standing for cell in cells] == ["kept", "untried"]
    assert cells[1].sentence == "untried: not selected"
    assert worst([]) is Standing.UNTRIED


def test_an_anomaly_breaks_what_it_names_and_clears_nothing() -> None:
    seen = Anomaly(
        name="duplicate", guarantee="idem-002", topic="t", partition=0, offsets=(1, 2), values=(5,), operations=(1,),
        sentence="twice", strength="integrity", attribution="broker",
    )  # fmt: skip
    failed = msgspec.structs.replace(
        result("idempotence/lost-ack", "fail", "idem-002", "ord-003", signature="anomaly:duplicate"), anomalies=(seen,)
    )
    assert dict(standings_of(failed)) == {"idem-002": "broken", "ord-003": "undecided"}
    besides = msgspec.structs.replace(failed, failures=(*failed.failures, Failure("died", "it died")))
    assert dict(standings_of(besides)) == {"idem-002": "broken", "ord-003": "broken"}
    elsewhere = msgspec.structs.replace(failed, guarantees=("ord-003",))
    assert dict(standings_of(elsewhere)) == {"ord-003": "undecided", "idem-002": "broken"}
    assert row([column("t1", failed)], "idem-002").cells[0].word == "doubled"


def test_guarantees_of_another_package_have_a_row_and_hostile_names_none() -> None:
    rows = matrix([column("t1", result("mine/x", "fail", "mine-001", "../../etc/x", "<script>"))])
    assert [r.guarantee.id for r in rows if r.guarantee.area == "other"] == ["mine-001"]


CHANGES = {
    ("pass", "fail"): Change.NEWLY_BROKEN,
    ("pass", "warn"): Change.NEWLY_BROKEN,
    ("unclear", "fail"): Change.FOUND_BROKEN,
    ("absent", "fail"): Change.FOUND_BROKEN,
    ("fail", "pass"): Change.MENDED,
    ("fail", "unclear"): Change.NEWLY_UNDECIDED,
    ("pass", "unclear"): Change.NEWLY_UNDECIDED,
    ("pass", "absent"): Change.NO_LONGER_DECIDED,
    ("fail", "lacking"): Change.NO_LONGER_DECIDED,
    ("unclear", "pass"): Change.NOW_KEPT,
}


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_what_a_change_is_called(before: str, after: str) -> None:
    assert change_of(result("a/b", before), result("a/b", after)) is CHANGES[before, after]


def test_nothing_changes_by_itself_and_a_failure_is_never_left_out() -> None:
    for word in WORD:
        assert change_of(result("a/b", word), result("a/b", word)) is None
    for before, after in product((None, *WORD), WORD):
        change = change_of(result("a/b", before) if before else None, result("a/b", after))
        if after == "fail" and before not in ("fail", "warn"):
            assert change in (Change.NEWLY_BROKEN, Change.FOUND_BROKEN)
        if after == "unclear" and before != "unclear":
            assert change is Change.NEWLY_UNDECIDED
    assert change_of(result("a/b", "pass"), None) is None
    other = result("a/b", "fail", signature="died")
    assert change_of(result("a/b", "fail"), other) is Change.FAILS_DIFFERENTLY


def test_versions_of_one_product_follow_each_other() -> None:
    columns = [
        column("t1", result("a/b", "fail", "offs-002"), target="kafka:4.4.0", day="2026-11-22"),
        column("t2", result("a/b", "pass", "offs-002"), target="kafka:4.4.0", day="2026-11-21"),
        column("t3", result("a/b", "pass", "offs-002"), target="kafka:4.4.0?nodes=3"),
    ]
    (step,) = steps(columns)
    assert (step.before.key, step.after.key) == ("t2", "t1")
    assert [(each.case, each.change) for each in step.differences] == [("a/b", Change.NEWLY_BROKEN)]
    (history,) = over_time(columns)
    assert [(line.case, line.standings, line.since) for line in history.cases] == [("a/b", ("kept", "broken"), 1)]


def test_what_a_product_is() -> None:
    assert product_of("kafka:3.9.2") == product_of("kafka:4.4.0") == "kafka"
    assert product_of("kafka:4.4.0?nodes=3") == "kafka?nodes=3"
    assert product_of("file:brokers/kfake-2026-09.toml") == product_of("file:kfake-2025-06.toml") == "kfake"
    assert product_of("reference?mutant=M05") != product_of("reference")


def test_fairness_names_each_difference_and_is_silent_where_there_is_none() -> None:
    cases = result("a/b", "pass", "offs-002"), result("a/c", "pass", "offs-002")
    assert unlike([column("t1", *cases), column("t2", *cases, target="other")]) == []
    other = column("t2", cases[0], seed=6, profile="smoke", machine={**MACHINE, "cores": "64"})
    found = {each.what: each.grave for each in unlike([column("t1", *cases), other])}
    assert found == {"seed": True, "profile": True, "cases chosen": True, "machine": False}
    same_number = unlike([column("t1", cases[0]), column("t2", cases[1])])
    assert [each.what for each in same_number] == ["cases chosen"]
    many = [column(f"t{number}", *cases) for number in range(6)]
    (seed,) = unlike([*many, column("t9", *cases, seed=6)])
    assert seed.shown == [("5", "the other 6"), ("6", "target-t9")]
    cut = msgspec.structs.replace(RunFinished(0), interrupted=True)
    assert unlike([Column("t1", "runs/t1", column("t1", *cases).run, cut, "0.1.0", MACHINE, cases)])


def test_faults_are_rows_and_what_was_not_provoked_is_one_too() -> None:
    columns = [
        column("t1", result("p/kill", "pass", "dur-001", schedule=KILL), result("i/ack", "fail", schedule=CUT)),
        column("t2", result("p/kill", "unclear", "dur-001", schedule=KILL)),
    ]
    rows = {fault.text: [cell.standing for cell in fault.cells] for fault in survival(columns)}
    assert rows == {
        "kill -9 of the partition leader": ["kept", "undecided"],
        "responses to Produce lost": ["broken", "untried"],
    }
    never = never_tried(survival(columns), ["kill", "pause"])
    assert "freeze of a node (SIGSTOP)" in never and set(NOT_PROVOKED.values()) <= set(never)
    broken = column("t3", msgspec.structs.replace(result("p/kill", "pass"), schedule="{not json"))
    assert survival([broken]) == []


def test_prices_are_multiples_of_what_both_measured_on_alike_machines() -> None:
    base = column("t1", profiles={"p/kill": profile(2.0), "p/more": profile(90.0)})
    twice = column("t2", profiles={"p/kill": profile(5.0, None, 50.0)})
    away = column("t3", profiles={"p/kill": profile(5.0)}, machine={**MACHINE, "cores": "64"})
    nothing = column("t4")
    found = prices([base, twice, away, nothing], None)
    assert (found.baseline, found.why_not) == (base, ("", "", "another machine", "no case measured times"))
    cells = found.rows[0].cells
    assert (cells[0].gap.value, cells[0].gap.multiple) == (90.0, None)
    assert (cells[1].gap.value, cells[1].gap.multiple) == (5.0, 2.5)
    assert (cells[1].recovery.value, cells[1].recovery.multiple) == (None, None)
    assert (cells[2].gap.value, cells[2].gap.multiple) == (5.0, None)
    assert cells[3].summary is None
    load = found.loads[1]
    assert load is not None and load.per_second.multiple == 0.5


def test_claims_stand_beside_verdicts() -> None:
    broken = CaseResult(
        "claims/transactions", "It MUST.", (), "must", Verdict.FAIL, Reason("claim", "claimed, but not in ApiVersions")
    )
    columns = [
        column("t1", result("transactions/x", "pass"), claims={"transactions": True}),
        column("t2", result("transactions/x", "absent"), broken),
        column("t3", claims={"transactions": False}),
    ]
    (found,) = [each for each in features(columns) if each.feature == "transactions"]
    assert [(each.claim, str(each.standing)) for each in found.cells] == [
        ("claimed", "kept"),
        ("claimed", "broken"),
        ("disclaimed", "untried"),
    ]


def test_counts_add_up_to_all_guarantees_asked() -> None:
    words = ["pass", "fail", "unclear", "absent", "lacking"]
    guarantees = ["offs-002", "idem-002", "ord-003", "dur-001", "fetch-003"]
    results = [result(f"a/{word}", word, name) for word, name in zip(words, guarantees, strict=True)]
    comparison = compared([column("t1", *results), column("t2", results[0])])
    for place in range(2):
        assert sum(comparison.counts(place).values()) == len(comparison.asked) == 5
    assert comparison.counts(1)[Standing.UNTRIED] == 4
    assert sorted(comparison.articles) == ["a/fail", "a/unclear"]

"""What a case needs beforehand fails once, in the case that decides it, and is never hidden."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import all_cases, by_id
from brokertrial.suites.outcome import failed
from brokertrial.suites.probe import prerequisites
from brokertrial.suites.probe.known import KnownSteps, Met
from brokertrial.suites.probe.prerequisites import DATA, OWNERS, PREREQUISITES, excused, known_from, owners_first
from brokertrial.suites.result import CaseResult, Failure, Outcome, Reason
from brokertrial.suites.running.rejudge import judge_stored
from tests.suites import bad_broker
from tests.suites.running import results_of

PROBE = Path(prerequisites.__file__).parent
GONE = "write: no-answer"


def test_each_step_is_decided_by_musts_that_run_first():
    for name, entry in PREREQUISITES.items():
        for owner in entry.owners:
            assert owner == DATA or (by_id()[owner].kind, by_id()[owner].level) == ("wire", "must"), (name, owner)
    order = [case.id for case in owners_first(reversed(all_cases()))]
    assert order[: len(OWNERS) - 1] == [owner for owner in OWNERS if owner != DATA]


def test_each_step_is_taken_by_a_helper_and_has_a_name():
    taken: set[str] = set()
    for path in PROBE.glob("*.py"):
        for line in path.read_text("utf-8").splitlines():
            if "step" in line or "on_the_way" in line or path.name == "produce.py":
                taken |= set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', line)) & set(PREREQUISITES)
    assert taken == set(PREREQUISITES)


def outcome(*failures: Failure) -> Outcome:
    told = failed("no-answer", "Produce v9 got no answer")
    return Outcome(Verdict.FAIL, told.reason, told.evidence, failures=failures or told.failures)


def lost(step: str = GONE) -> Failure:
    return Failure("no-answer:Produce", "Produce v9 got no answer", step=step)


@pytest.mark.parametrize(
    ("known", "case", "verdict", "headline"),
    [
        (
            KnownSteps((Met(GONE, DATA),)),
            "a/b",
            Verdict.NOT_APPLICABLE,
            "needs an ordinary record that is written, which",
        ),
        (KnownSteps((Met(GONE, DATA),)), "produce/base-offset", Verdict.NOT_APPLICABLE, "needs an ordinary record"),
        (KnownSteps((Met(GONE, "a/b"),)), "a/b", Verdict.FAIL, "could not get to its statement: Produce"),
        (
            KnownSteps((Met("write: statement:refused", DATA),), ("write",)),
            "a/b",
            Verdict.FAIL,
            "Produce v9 got no answer",
        ),
        (KnownSteps((Met("read: no-answer", DATA),)), "a/b", Verdict.FAIL, "could not get to its statement: Produce"),
        (KnownSteps(), "a/b", Verdict.FAIL, "could not get to its statement: Produce v9 got no answer"),
        (KnownSteps(), "produce/base-offset", Verdict.FAIL, "Produce v9 got no answer"),
        (KnownSteps(decided=("write",)), "a/b", Verdict.FAIL, "Produce v9 got no answer"),
    ],
)
def test_only_the_same_failure_of_another_case_excuses(known, case, verdict, headline):
    found = excused(outcome(lost()), case, known)
    assert found.verdict is verdict and found.reason is not None
    assert found.reason.sentence.startswith(headline), found.reason
    assert not found.failures or found.failures[0].signature == "no-answer:Produce"


def test_what_is_no_step_is_never_excused():
    plain = outcome(Failure("statement:x", "it is false"))
    assert excused(plain, "a/b", KnownSteps((Met("", DATA),))) is plain


def test_of_several_failures_those_that_are_not_excused_stay():
    found = excused(outcome(lost(), Failure("statement:x", "it is false")), "a/b", KnownSteps((Met(GONE, DATA),)))
    assert (found.verdict, found.reason) == (Verdict.FAIL, Reason("statement", "it is false"))
    assert [one.signature for one in found.failures] == ["statement:x"]
    assert "which failed in requires/data" in found.warnings[0]


def result(case: str, level: str = "must", verdict: Verdict = Verdict.FAIL, step: str = GONE) -> CaseResult:
    failures = (lost(step),) if verdict is Verdict.FAIL else ()
    return CaseResult(case, "It MUST.", (), level, verdict, failures=failures)


def test_a_failure_of_the_run_in_a_case_that_decides_is_known():
    assert known_from([result(DATA)]) == KnownSteps((Met(GONE, DATA),), ("write",))
    assert known_from([result(DATA, level="should")]) == KnownSteps(decided=("write",))
    assert known_from([result("fetch/at-the-end", level="should")]) == KnownSteps()
    assert "write" in known_from([result("produce/base-offset", verdict=Verdict.PASS)]).decided


def test_an_owner_that_failed_in_its_closing_look_alone_had_done_its_steps():
    looked = replace(lost("ends: protocol"), guarantees=("offs-001",))
    owner = CaseResult("produce/base-offset", "It MUST.", (), "must", Verdict.FAIL, failures=(looked,))
    known = known_from([owner])
    assert known.failed == () and {"write", "ends", "read"} <= set(known.decided)
    both = replace(owner, failures=(lost(), looked))
    assert known_from([both]) == KnownSteps((Met(GONE, owner.case),), ("write",))


def test_where_no_owner_failed_the_first_that_failed_in_a_step_alone_stands_in():
    first, later = result("fetch/at-the-end"), result("records/round-trip")
    stands_in = KnownSteps((Met(GONE, "fetch/at-the-end"),))
    assert known_from([first, later]) == stands_in
    assert known_from([result(DATA), first]).failed == (Met(GONE, DATA),)
    also = CaseResult("a/b", "It MUST.", (), "must", Verdict.FAIL, failures=(lost(), Failure("statement:x", "it is")))
    assert known_from([also]) == KnownSteps(), "what else it did may have led to that"
    assert known_from([result("a/b", step="position: no-answer")]) == KnownSteps(), "several state that"
    assert excused(outcome(lost()), "a/c", stands_in).verdict is Verdict.NOT_APPLICABLE
    assert excused(outcome(lost()), "fetch/at-the-end", stands_in).verdict is Verdict.FAIL


OTHERS = ["records/round-trip", "offsets/ends", "commits/round-trip", "protocol/acks-0-has-no-answer"]


@pytest.mark.usefixtures("targets_settle_soon")
def test_a_broker_that_takes_no_record_has_one_failure(tmp_path):
    """Of 217 wire cases 160 said so, each by itself."""
    found = results_of(bad_broker.toml(tmp_path, "cannot_write"), tmp_path / "run", ["produce/base-offset", *OTHERS])
    assert [name for name, one in found.items() if one.verdict is Verdict.FAIL] == [DATA]
    for name in ("produce/base-offset", "records/round-trip", "offsets/ends"):
        reason = found[name].reason
        assert reason is not None and reason.kind == "needs" and f"failed in {DATA}" in reason.sentence, found[name]
    assert found["commits/round-trip"].verdict is Verdict.PASS
    again = judge_stored(tmp_path / "run" / "run" / found["offsets/ends"].history)
    assert (again.verdict, again.reason) == (Verdict.NOT_APPLICABLE, found["offsets/ends"].reason)


def test_the_settings_of_a_broker_fail_in_their_own_case(tmp_path):
    target = bad_broker.toml(tmp_path, "closes_on_broker_settings")
    named = ["groups/silent-after-a-crash", "retention/by-time"]
    found = results_of(target, tmp_path / "all", ["admin/described-settings", *named])
    assert [name for name, one in found.items() if one.verdict is Verdict.FAIL] == ["admin/described-settings"]
    assert all(found[name].reason.kind == "needs" for name in named)
    (alone,) = results_of(target, tmp_path / "alone", ["retention/by-time"]).values()
    assert alone.verdict is Verdict.FAIL, "the one that decides it did not run: nothing may hide it"
    assert alone.reason.sentence.startswith("could not get to its statement: DescribeConfigs")

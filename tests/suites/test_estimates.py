"""What a run says of its time: measured on healthy targets, with the limit of one that fails beside it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bench import healthy_times
from brokertrial.suites.case import Case, all_cases, by_id
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.running import estimates
from brokertrial.suites.running.estimates import (
    RepeatBudget,
    healthy_s,
    limit_s,
    measured,
    measured_in,
    run_limit_s,
    unknown,
)
from tests.suites import bad_broker
from tests.suites.running import results_of

TRIALS = [case for case in all_cases() if case.kind == "trial"]


def test_of_two_runs_the_shorter_time_counts() -> None:
    assert measured_in([{"a/b": 3.0, "a/c": 1.234}, {"a/b": 2.5}]) == {"a/b": 2.5, "a/c": 1.23}


def test_nearly_all_cases_have_been_measured_and_no_other() -> None:
    assert len(unknown(all_cases())) < 15
    assert measured().keys() <= by_id().keys()


def test_what_has_not_been_measured_is_estimated_about_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    known = sum(healthy_s(case, "full") for case in TRIALS)
    monkeypatch.setattr(estimates, "measured", dict)
    assert 0.4 * known < sum(healthy_s(case, "full") for case in TRIALS) < 1.5 * known


@pytest.mark.parametrize("case", TRIALS, ids=str)
def test_a_trial_ends_on_a_healthy_target_well_within_its_limit(case: Case) -> None:
    assert healthy_s(case, "full") < 0.75 * limit_s(case, "full")
    assert limit_s(case, "smoke") < limit_s(case, "full")


def test_the_limit_of_a_run_is_that_of_its_cases_and_of_what_is_tried_again() -> None:
    wire, trial = by_id()["produce/base-offset"], by_id()["idempotence/lost-ack"]
    once = 2 * healthy_s(wire, "full") + limit_s(trial, "full")
    assert run_limit_s([wire, trial], "full") == pytest.approx(once + estimates.REPEATS_AT_LEAST_S)


def test_the_file_is_made_from_what_passed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healthy_times, "TIMES", tmp_path / "times.json")
    rows = [{"header": 1}]
    for case, verdict, attempts in (("produce/base-offset", "pass", 1), ("idempotence/lost-ack", "pass", 2)):
        rows.append({"result": {"case": case, "verdict": verdict, "attempts": [{}] * attempts, "duration_s": 77.0}})
    (tmp_path / "results.jsonl").write_bytes(b"\n".join(msgspec.json.encode(row) for row in rows))
    assert healthy_times.main([str(tmp_path)]) == 0
    written = msgspec.json.decode((tmp_path / "times.json").read_bytes())
    assert written == dict(sorted((measured() | {"produce/base-offset": 77.0}).items()))


def test_where_nothing_comes_to_a_verdict_nothing_is_tried_thrice_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brokertrial.suites.running.run.REPEATS_AT_LEAST_S", 0.0)
    monkeypatch.setattr("brokertrial.suites.running.run.healthy_s", lambda case, profile: 0.0)
    cases = [undecided("tests/one"), undecided("tests/two")]
    found = results_of(bad_broker.toml(tmp_path, "nothing_bad"), tmp_path / "run", cases)
    assert [len(result.attempts) for result in found.values()] == [1, 1]
    assert all("not tried again" in " ".join(result.warnings) for result in found.values())


def undecided(name: str) -> Case:
    def function(wire: Wire) -> None:
        """It MUST hold."""
        wire.unclear("nothing came of it")

    return Case(name, function, ("prod-001",), (), {}, {}, False, None)


def test_first_attempts_cost_nothing() -> None:
    budget = RepeatBudget(10.0)
    budget.spend(100.0, 1)
    budget.spend(4.0, 2)
    assert budget.left_s == 6.0

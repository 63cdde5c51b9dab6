"""A target that does not start with its own data goes on without them, and what is said of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import by_id
from brokertrial.suites.outcome import failed, passed
from brokertrial.suites.probe.target_condition import UNSETTLED
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.fresh_start import COSTS_AT_MOST_S, WITHOUT, FreshStart
from brokertrial.suites.running.rejudge import can_be_judged_again
from brokertrial.suites.targets import TargetNotReady
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.process import LaunchPlan, NodeEnded
from brokertrial.suites.targets.processes import ProcessTarget

ENDED = NodeEnded("node 1 exited with status 1 before it served", last_lines=("cannot read its index",))
SLOW = TargetNotReady("mine did not serve within 60 s")


class NeverBack(ProcessTarget):
    """Does not come back with its data, for this reason."""

    scheme = "mine"

    def __init__(self, workdir: Path, problem: TargetNotReady | None = None) -> None:
        super().__init__(Address("mine", "mine", "", {}), workdir)
        self.problem = problem
        self.fresh = 0

    def plans(self) -> dict[int, LaunchPlan]:
        return {}

    def version(self) -> str:
        return "not stated"

    def recover(self) -> None:
        if self.problem is not None:
            raise self.problem

    def start_without_data(self) -> None:
        self.fresh += 1


def brought_back(tmp_path: Path, problem: TargetNotReady | None) -> FreshStart:
    target = NeverBack(tmp_path, problem)
    fresh_start = FreshStart(target)
    fresh_start.recover()
    assert target.fresh == (problem is not None)
    return fresh_start


def test_a_node_that_ends_over_its_own_data_fails_the_case(tmp_path: Path) -> None:
    fresh_start = brought_back(tmp_path, ENDED)
    outcome = fresh_start.upon(passed())
    assert outcome.verdict is Verdict.FAIL and outcome.reason is not None and outcome.reason.kind == "died"
    assert outcome.reason.sentence == f"it does not start again with its own data: {ENDED.sentence}"
    assert [line.text for line in outcome.evidence] == ["cannot read its index"]
    assert outcome.warnings and outcome.warnings[0].endswith(WITHOUT)
    assert fresh_start.upon(passed()) == passed(), "said once"
    stored = CaseResult.of(by_id()["offsets/ends"], outcome)
    assert not can_be_judged_again(stored), "its history shows a case that passed"
    assert can_be_judged_again(CaseResult.of(by_id()["offsets/ends"], failed("died", "the target died of Fetch v1")))


def test_one_that_is_too_slow_proves_nothing(tmp_path: Path) -> None:
    outcome = brought_back(tmp_path, SLOW).upon(passed())
    assert outcome.verdict is Verdict.INCONCLUSIVE and outcome.reason is not None and outcome.reason.kind == UNSETTLED


def test_a_failure_stays_what_it_was(tmp_path: Path) -> None:
    before = failed("statement", "offset 7 is missing")
    outcome = brought_back(tmp_path, ENDED).upon(before)
    assert (outcome.reason, outcome.failures) == (before.reason, before.failures) and len(outcome.warnings) == 1


def test_nothing_is_said_of_one_that_comes_back(tmp_path: Path) -> None:
    assert brought_back(tmp_path, None).upon(passed()) == passed()


def test_behind_a_proxy_it_keeps_its_place_and_the_run_ends(tmp_path: Path) -> None:
    target = NeverBack(tmp_path, ENDED)
    with pytest.raises(NodeEnded):
        FreshStart(target, addresses_stay=True).recover()
    assert not target.fresh


def test_starts_in_vain_may_take_so_long_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("brokertrial.suites.running.fresh_start.time.monotonic", lambda: now[0])
    target = NeverBack(tmp_path, SLOW)

    def slow() -> None:
        now[0] += 0.4 * COSTS_AT_MOST_S
        raise SLOW

    monkeypatch.setattr(target, "recover", slow)
    fresh_start = FreshStart(target)
    fresh_start.recover()
    fresh_start.recover()
    with pytest.raises(TargetNotReady):
        fresh_start.recover()
    assert target.fresh == 2

"""What a run does with trouble that is no verdict: a mistake of ours is said, a target that is lost ends it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case
from brokertrial.suites.events import CaseFinished, RunEvent, RunFinished
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import Run
from brokertrial.suites.running.session import TargetSession
from brokertrial.suites.targets import TargetNotReady, TargetProblem, open_target


def case(name: str) -> Case:
    def function(wire):
        """Something MUST hold."""

    return Case(name, function, ("prod-001",), (), {}, {}, False, None)


@pytest.fixture
def told() -> list[RunEvent]:
    return []


@pytest.fixture
def run(tmp_path: Path, told: list[RunEvent]) -> Run:
    """A run of three cases whose target is never started."""
    run = Run(RunOptions("reference", run_dir=str(tmp_path)), told.append)
    run.choose([case("tests/one"), case("tests/two"), case("tests/three")])
    target = open_target("reference", tmp_path / "target")
    run._session = TargetSession(target, tmp_path, seed=1, profile="full", claims={}, emit=told.append)
    return run


def raises(error: Exception):
    def run(*_):
        raise error

    return run


def test_a_mistake_of_ours_outside_of_an_attempt_is_a_result_and_3(run: Run, told: list[RunEvent]) -> None:
    run._session.run = raises(AttributeError("no such field"))
    result = run.run(run.cases[0])
    assert (result.verdict, result.reason.kind) == (Verdict.INCONCLUSIVE, "suite")
    assert "Traceback" in result.evidence[0].text and "no such field" in result.reason.sentence
    assert told == [CaseFinished(result)] and not run.over
    run.finish()
    assert run.status == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_that_came_in_a_finalizer_ends_the_run_all_the_same(run: Run) -> None:
    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def to_the_end(*_) -> CaseResult:
        Finalized()
        return run._session.lost(run.cases[0], ValueError("first"))

    run._session.run = to_the_end
    with run.interruption, pytest.raises(KeyboardInterrupt):
        run.run(run.cases[0])
    run.finish(interrupted=True)
    assert run.status == 2


def test_a_target_that_cannot_be_brought_back_ends_the_run(run: Run, told: list[RunEvent]) -> None:
    run._session.run = lambda *_: run._session.lost(run.cases[0], ValueError("first"))
    run.run(run.cases[0])
    run._session.run = raises(TargetNotReady("node 1 did not serve again", last_lines=("panic",)))
    with pytest.raises(TargetProblem):
        run.run(run.cases[1])
    assert run.over
    run.finish()
    end = told[-1]
    assert isinstance(end, RunFinished) and run.status == 7 and end.tail == ("panic",)
    assert end.error.splitlines() == [
        "node 1 did not serve again",
        "It could not be brought back: 2 of 3 cases were not run.",
    ], "the log lines are the tail's alone"

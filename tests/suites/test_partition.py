"""Trials that part the nodes of a cluster: one passes, a planted bug fails it, and without namespaces none applies."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run
from brokertrial.suites.targets import processes
from brokertrial.suites.targets.network.abilities import offered_here

pytestmark = pytest.mark.long

CASE = "partition/isolated-leader"
WITH_NETWORK = pytest.mark.skipif("network" not in offered_here(), reason="no network namespaces on this machine")

#: What shows of a batch that was acknowledged and given up: it is gone, its offset is another's, or it was sent again
#: in time and is acknowledged at a second offset.
GIVEN_UP = {"lost-write", "unseen", "offset-reuse", "dedup-ack"}


def result(target: str, runs: Path, seed: int = 1) -> CaseResult:
    (found,) = run(RunOptions(target, select=(CASE,), runs=str(runs), seed=seed)).results
    return found


@WITH_NETWORK
def test_an_isolated_leader_is_no_danger_to_a_healthy_cluster(tmp_path: Path) -> None:
    found = result("reference:3", tmp_path)
    assert found.verdict is Verdict.PASS, found


@WITH_NETWORK
def test_a_leader_that_decides_alone_is_caught(tmp_path: Path) -> None:
    """In one of three runs: where both cores are taken, the leader's answer may come when the clients have left."""
    seen = []
    for seed in (1, 2, 3):
        found = result("reference:3?mutant=B09", tmp_path / str(seed), seed)
        seen.append((found.verdict, found.reason, {anomaly.name for anomaly in found.anomalies}))
        if found.is_failure and seen[-1][2] & GIVEN_UP:
            return
    raise AssertionError(f"in three runs it was not caught: {seen}")


def test_where_namespaces_are_forbidden_the_trial_is_not_applicable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "offered_here", frozenset)
    found = result("reference:3", tmp_path)
    assert found.verdict is Verdict.NOT_APPLICABLE and "cutting nodes off" in str(found)

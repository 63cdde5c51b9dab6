"""A gate told by hand: something of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.gate.last_run import LastRun
from brokertrial.ci.gate.policy import Policy
from brokertrial.ci.gate.runs import Runs
from brokertrial.ci.reports.known import KnownFailures
from brokertrial.suites.events import CaseInfo, RunStarted
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.result import CaseResult
from tests.ci.gate.made import TODAY, YESTERDAY, absent, failed, known, passed, unsure

NOW = [
    passed("offsets/mended"),
    failed("offsets/new", "statement:Fetch.x:is NONE, 100% wrong"),
    failed("offsets/also-new", "statement:Fetch.x:is NONE, 100% wrong"),
    failed("idempotence/known", "anomaly:duplicate"),
    failed("fetch/should", level="should"),
    unsure("groups/unsure"),
    absent("groups/lost"),
]
LAST = [passed("offsets/new"), passed("groups/lost"), failed("offsets/mended")]
BASELINE = known(
    ("idempotence/known", "anomaly:duplicate"), ("offsets/mended", "wrong"), ("fetch/gone", "wrong", YESTERDAY)
)


def started(results: list[CaseResult]) -> RunStarted:
    infos = tuple(CaseInfo(one.case, one.statement, one.level, one.guarantees) for one in results)
    return RunStarted("runs/1", "reference", "0.1.0", "smoke", 42, "2026-11-25T01:00:00+00:00", 9.0, infos)


def gated(
    results: list[CaseResult], baseline: KnownFailures, policy: Policy, last: list[CaseResult] | None = None
) -> Gated:
    runs = Runs(Path("runs/1"), started(results), tuple(results), ExitStatus.PASSED, duration_s=38.2)
    before = None if last is None else LastRun(Path("last"), started(last), "0.1.0", tuple(last), 0)
    place = Path("ci/known.toml")
    return Gated.of(
        runs, baseline, policy, TODAY, target="reference", profile="smoke", baseline=place, last=before
    )  # fmt: skip


@pytest.fixture
def red() -> Gated:
    return gated(NOW, BASELINE, Policy(), LAST)


@pytest.fixture
def green() -> Gated:
    return gated([passed("offsets/a"), unsure("groups/unsure")], KnownFailures("known.toml"), Policy(inconclusive=1))


@pytest.fixture
def not_ready() -> Gated:
    runs = Runs(Path("runs/1"), None, (), ExitStatus.NOT_READY, "the process ended with status 1")
    place = Path("known.toml")
    return Gated.of(runs, KnownFailures("known.toml"), Policy(), TODAY, target="x", profile="smoke", baseline=place)

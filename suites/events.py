"""What a run tells its listeners while it goes on; console, results and reports are made from these alone."""

from __future__ import annotations

import msgspec

from brokertrial.suites.result import CaseResult


class CaseInfo(msgspec.Struct, frozen=True):
    """A case that is going to run."""

    case: str
    statement: str
    level: str
    guarantees: tuple[str, ...]
    needs: tuple[str, ...] = ()
    estimate_s: float = 0.0
    trial: bool = False
    text: str = ""
    """Changes with the case itself (suites/proving/case_dependencies.py)."""


class LeftOut(msgspec.Struct, frozen=True):
    """A case that is not going to run, and why: the profile, the budget or the selection."""

    case: str
    reason: str


class RunStarted(msgspec.Struct, frozen=True, tag=True):
    """The target serves; the cases are known."""

    folder: str
    target: str
    target_version: str
    profile: str
    seed: int
    started_at: str
    estimate_s: float
    cases: tuple[CaseInfo, ...]
    left_out: tuple[LeftOut, ...] = ()
    told_again: int = 0
    """Results that come first and were told before, by an earlier process of this run."""
    limit_s: float = 0.0
    """Within which it ends on a target that fails; `estimate_s` is for a healthy one."""
    claims: dict[str, bool] = {}
    """Features that the target says it has, or (false) has not."""


class CaseStarted(msgspec.Struct, frozen=True, tag=True):
    """One attempt at one case begins."""

    case: str
    index: int
    total: int
    attempt: int = 1
    estimate_s: float = 0.0


class PhaseChanged(msgspec.Struct, frozen=True, tag=True):
    """A case entered a phase: starting, warm-up, faults, recovery, final read, judging."""

    case: str
    phase: str


class TrialProgress(msgspec.Struct, frozen=True, tag=True):
    """How far a trial has come, a few times a second."""

    case: str
    acked: int
    operations: int = 0
    active: tuple[str, ...] = ()
    left_s: float | None = None


class CaseFinished(msgspec.Struct, frozen=True, tag=True):
    """A case has its verdict."""

    result: CaseResult


class RunFinished(msgspec.Struct, frozen=True, tag=True):
    """The run is over; `status` is its exit status before known failures are taken into account."""

    status: int
    interrupted: bool = False
    error: str = ""
    duration_s: float = 0.0
    tail: tuple[str, ...] = ()
    """With an error the last lines that the target said; and what is said once of the whole run, a sentence each."""


RunEvent = RunStarted | CaseStarted | PhaseChanged | TrialProgress | CaseFinished | RunFinished

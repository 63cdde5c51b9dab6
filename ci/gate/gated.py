"""Everything that is known at the end of a gate: what every file of it is made from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from brokertrial.ci.gate.decision import Decision, decide
from brokertrial.ci.gate.last_run import LastRun
from brokertrial.ci.gate.policy import Policy
from brokertrial.ci.gate.runs import Runs
from brokertrial.ci.reports.known import KnownFailures
from brokertrial.ci.reports.run_state import RunState


@dataclass(frozen=True)
class Gated:
    """One decision with its runs. `baseline` is the path of the known failures as it was given."""

    target: str
    profile: str
    baseline: str
    policy: Policy
    runs: Runs
    last: LastRun | None
    state: RunState
    decision: Decision

    @classmethod
    def of(
        cls,
        runs: Runs,
        known: KnownFailures,
        policy: Policy,
        today: date,
        *,
        target: str,
        profile: str,
        baseline: Path,
        last: LastRun | None = None,
    ) -> Gated:
        """Decides, and keeps what the decision rests on."""
        state = RunState(
            runs.folder,
            known,
            today,
            runs.run,
            list(runs.results),
            runs.end,
            blocks=policy.blocks,
            min_decided=policy.min_decided,
            places=runs.places,
        )
        decision = decide(
            runs.results,
            known,
            policy,
            today,
            last=last.results if last else None,
            ended=runs.ended,
            error=runs.error,
        )
        return cls(target, profile, baseline.as_posix(), policy, runs, last, state, decision)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was let through, and why the comparison with the last good run is not one of like with like."""
        if self.last is None:
            return (*self.decision.notes, "no last good run to compare with")
        return (*self.decision.notes, *self.last.differs(self.target, self.profile))

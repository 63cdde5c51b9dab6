"""Everything that is known at the end of a gate: what every file of it is made from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from brokertrial.ci.gate.decision import Decision, counted, decide, named
from brokertrial.ci.gate.last_run import LastRun
from brokertrial.ci.gate.policy import Policy
from brokertrial.ci.gate.repository import path_in_repository
from brokertrial.ci.gate.runs import Runs
from brokertrial.ci.reports.known import KnownFailures
from brokertrial.ci.reports.run_state import RunState


@dataclass(frozen=True)
class Gated:
    """One decision with its runs. `baseline` is the path of the known failures from the top of the repository."""

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
        return cls(target, profile, path_in_repository(baseline, os.environ), policy, runs, last, state, decision)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was let through, what was compared with, and why that is not a comparison of like with like."""
        return (*self.decision.notes, *self._compared())

    def _compared(self) -> Iterator[str]:
        if self.last is None:
            yield "no last good run to compare with"
            return
        version = f" ({self.last.run.target_version})" if self.last.run.target_version else ""
        yield f"compared with the last good run, {self.last.run.started_at[:16].replace('T', ' ')} UTC{version}"
        yield from self.last.differs(self.target, self.profile)
        if self.runs.run and (left := self.last.left_out(self.runs.run)):
            yield f"the last good run left out {counted(len(left), 'case')} of this one: {named(left)}"

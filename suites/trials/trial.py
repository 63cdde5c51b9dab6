"""A trial: what a case under faults supplies. Who runs it, and in which phases, is suites/trials/run_trial.py."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from brokertrial.faults.schedule import Schedule
from brokertrial.suites.workloads.workload import Workload


@dataclass(frozen=True)
class Trial:
    """A workload, a schedule, and how much of each makes a verdict.

    Numbers of operations are those of acknowledged calls; seconds are for a target that answers in a millisecond, and
    grow with the latency that was measured.
    """

    workload: Workload
    schedule: Schedule = field(default_factory=Schedule)
    warm_up: int = 60
    """Acknowledged before the first fault may come."""
    length: int = 2_000
    """Acknowledged in all, before the faults are healed."""
    during_faults: int = 100
    """Invoked while a fault was active; fewer prove too little."""
    observations: int = 5
    """That a check must have judged during the faults to decide a guarantee of the case: see DECIDES and OBSERVES in
    checkers/check.py. Fewer, and the trial is inconclusive (`unobserved`)."""
    at_least_s: float = 0.0
    """That the disturbed part lasts, however fast the operations are."""
    longest_s: float = 45.0
    """When the faults are healed even if there is less than that."""
    recovery_s: float = 30.0
    """Within which everything must move again after the heal."""
    session_s: float = 0.0
    """The session timeout of members that are cut off: within two of them another must have what they owned."""
    log_starts_rise: int = 0
    """How often the start of a log must have been seen to rise before the faults are healed."""
    assignments: int = 0
    """How often members must have been given their partitions, by rebalances that worked, before the faults are
    healed; fewer in the end, and the trial is inconclusive: calls are soon acknowledged where a target is fast."""
    settings: tuple[tuple[str, int], ...] = ()
    """Settings of the brokers, and how high each may be at the most: else the trial is not applicable."""
    checks: tuple[str, ...] = ()
    """Checks that are made only where a case names them; all others are made anyway."""

    def at_scale(self, profile: str) -> Trial:
        """The smoke profile takes half of everything that costs time."""
        if profile != "smoke":
            return self
        return replace(
            self,
            length=self.length // 2,
            during_faults=self.during_faults // 2,
            assignments=self.assignments // 2,
            longest_s=self.longest_s / 1.5,
        )

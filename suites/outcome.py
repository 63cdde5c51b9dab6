"""What one attempt at a case came to, before it is dressed up as a CaseResult."""

from __future__ import annotations

import msgspec

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import Evidence, Failure, Reason
from brokertrial.suites.signature import signature

FATAL = ("died", "sick")
NO_PROGRESS = "no-progress-after-heal"
"""The anomaly of a target that lives, and lets neither the clients of a workload nor fresh ones get anywhere."""
LATE_TAKEOVER = "late-takeover"
HANGING = "hanging-transaction"
TIMED = frozenset({NO_PROGRESS, LATE_TAKEOVER, HANGING, "no-progress", "orphan-partition"})
"""Anomalies of something that took longer than it may, which a busy machine can bring about too."""


class Outcome(msgspec.Struct, frozen=True):
    """A verdict with its reason and its proof."""

    verdict: Verdict
    reason: Reason | None = None
    evidence: tuple[Evidence, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    permitted: tuple[Anomaly, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: dict[str, str | int | float] = {}
    schedule: str = ""
    failures: tuple[Failure, ...] = ()

    @property
    def fatal(self) -> bool:
        """Whether a failure is about the target and no statement of the case: whatever request does this is one."""
        return self.verdict is Verdict.FAIL and self.reason is not None and self.reason.kind in FATAL

    @property
    def is_stuck(self) -> bool:
        """Whether the target was found to let nobody get anywhere: it need not be waited for as long again."""
        return any(anomaly.name == NO_PROGRESS for anomaly in self.anomalies)


def passed() -> Outcome:
    return Outcome(Verdict.PASS)


def failed(
    kind: str, sentence: str, evidence: tuple[Evidence, ...] = (), *, about: str = "", ours: str = "", step: str = ""
) -> Outcome:
    """One failure; `about` and `ours` as for its signature."""
    failure = Failure(signature(kind, sentence, about, ours), sentence, step=step)
    return Outcome(Verdict.FAIL, Reason(kind, sentence), evidence, failures=(failure,))


def inconclusive(kind: str, sentence: str, evidence: tuple[Evidence, ...] = ()) -> Outcome:
    return Outcome(Verdict.INCONCLUSIVE, Reason(kind, sentence), evidence)


def not_applicable(kind: str, sentence: str) -> Outcome:
    return Outcome(Verdict.NOT_APPLICABLE, Reason(kind, sentence))

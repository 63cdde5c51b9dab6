"""What came of a case: plain data that the plugin, `check` and every report share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict

NOTHING: Mapping[str, str | int | float] = {}
FATAL = ("died", "sick")
NO_PROGRESS = "no-progress-after-heal"
ONLY_WARNS = "it can only warn"
"""How the sentence ends that says why a failed case accuses nobody."""
"""The anomaly of a target that lives, and lets neither the clients of a workload nor fresh ones get anywhere."""


class Reason(msgspec.Struct, frozen=True):
    """Why a verdict is what it is: a kind to count by (suites/reasons.py), and a sentence to read."""

    kind: str
    sentence: str


class Evidence(msgspec.Struct, frozen=True):
    """One line of proof, in time order, or one exchange on the wire."""

    what: str
    text: str
    outcome: str = ""
    at_s: float | None = None
    op: int | None = None
    window: str | None = None
    note: str = ""
    marked: tuple[int, ...] = ()
    bytes_hex: str = ""


class Failure(msgspec.Struct, frozen=True):
    """One thing that was false. A result lists each; a known failure is known by its signature."""

    signature: str
    """Stable over runs, seeds and machines: see suites/signature.py."""
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    """What proves this one; empty where the evidence of the result is about nothing else."""
    harms: bool = False
    """An acknowledged record was lost, altered, doubled or reordered, or an aborted one delivered."""
    step: str = ""
    """The step on the way to the subject of the case that went wrong, and how (suites/probe/prerequisites.py)."""
    guarantees: tuple[str, ...] = ()
    """What it breaks, where that is not what the case is about: what the closing look found (suites/closing_look)."""


class LogLine(msgspec.Struct, frozen=True):
    """A line that a broker wrote while the case ran."""

    node: int
    text: str
    at_s: float


class KafkaProof(msgspec.Struct, frozen=True):
    """Where this very case last passed on Apache Kafka, and the planted bugs that make it fail."""

    passed_on: tuple[str, ...] = ()
    """The one that speaks of this target comes last."""
    fails_with: tuple[str, ...] = ()
    renewal_due: tuple[str, ...] = ()
    """The files that have changed under the case since it passed there: it still accuses, and is to be proven again."""
    nodes: tuple[int, ...] = ()
    """On how many nodes it has passed."""

    def speaks_of(self, nodes: int) -> bool:
        """Whether it has passed in such a setting: on one node, or on several."""
        return any((seen > 1) == (nodes > 1) for seen in self.nodes)

    @property
    def sentence(self) -> str:
        """Where it passed, and whether that has to be shown again."""
        due = f"; renewal due: {_some(self.renewal_due)} changed since" if self.renewal_due else ""
        return f"proven on {self.passed_on[-1] if self.passed_on else 'nothing'}{due}"


class Attempt(msgspec.Struct, frozen=True):
    """One time that the case was run; every one is kept."""

    seed: int
    verdict: Verdict
    reason: Reason | None
    history: str
    anomalies: tuple[Anomaly, ...] = ()
    """What it saw and no client can be shown to have done, also where it came to no verdict."""


class Outcome(msgspec.Struct, frozen=True):
    """What one attempt at a case came to: a verdict with its reason and its proof."""

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


class Subject(Protocol):
    """What a result is about: a case, or a promise of the target."""

    @property
    def id(self) -> str: ...
    @property
    def statement(self) -> str: ...
    @property
    def guarantees(self) -> tuple[str, ...]: ...
    @property
    def level(self) -> str: ...


class CaseResult(msgspec.Struct, frozen=True):
    """The outcome of one case, with its proof; made by `CaseResult.of` alone."""

    case: str
    statement: str
    guarantees: tuple[str, ...]
    level: str
    verdict: Verdict
    reason: Reason | None = None
    attempts: tuple[Attempt, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    permitted: tuple[Anomaly, ...] = ()
    """What was found where Kafka promises nothing better: shown with its size, held against nobody."""
    evidence: tuple[Evidence, ...] = ()
    warnings: tuple[str, ...] = ()
    seed: int = 0
    schedule: str = ""
    started_ns: int = 0
    duration_s: float = 0.0
    history: str = ""
    facts: dict[str, str | int | float] = {}
    log_lines: tuple[LogLine, ...] = ()
    proof: KafkaProof | None = None
    parameters: dict[str, str] = {}
    failures: tuple[Failure, ...] = ()
    """Everything that was false, the headline first; never empty where the verdict is FAIL."""

    @classmethod
    def of(
        cls,
        subject: Subject,
        outcome: Outcome,
        *,
        level: str = "",
        attempts: Sequence[Attempt] = (),
        seed: int = 0,
        started_ns: int = 0,
        ended_ns: int | None = None,
        history: str = "",
        facts: Mapping[str, str | int | float] = NOTHING,
        log_lines: tuple[LogLine, ...] = (),
        proof: KafkaProof | None = None,
    ) -> CaseResult:
        """What the outcome of the last attempt makes of a case; `level` where it may accuse at another than its own.

        `facts` come before those of the outcome.
        """
        return cls(
            case=subject.id,
            statement=subject.statement,
            guarantees=subject.guarantees,
            level=level or subject.level,
            verdict=outcome.verdict,
            reason=outcome.reason,
            attempts=tuple(attempts),
            anomalies=outcome.anomalies,
            permitted=outcome.permitted,
            evidence=outcome.evidence,
            warnings=outcome.warnings,
            seed=seed,
            schedule=outcome.schedule,
            started_ns=started_ns,
            duration_s=0.0 if ended_ns is None else (ended_ns - started_ns) / 1e9,
            history=history,
            facts={**facts, **outcome.facts},
            log_lines=log_lines,
            proof=proof,
            failures=outcome.failures,
        )

    def judged_again(self, outcome: CaseResult) -> CaseResult:
        """The same run of the case with what another judgement of its history came to."""
        return msgspec.structs.replace(
            self,
            verdict=outcome.verdict,
            reason=outcome.reason,
            anomalies=outcome.anomalies,
            permitted=outcome.permitted,
            evidence=outcome.evidence,
            failures=outcome.failures,
        )

    @property
    def only_warns(self) -> bool:
        """Whether it failed in a way that decides nothing: nobody has seen Apache Kafka pass the case here."""
        return self.verdict is Verdict.FAIL and any(each.endswith(ONLY_WARNS) for each in self.warnings)

    @property
    def is_failure(self) -> bool:
        """A failed `must` counts against the run; anything else that failed is a warning."""
        return self.verdict is Verdict.FAIL and self.level == "must"


def _some(files: tuple[str, ...], most: int = 3) -> str:
    return ", ".join(files[:most]) + (f" and {len(files) - most} more" if len(files) > most else "")

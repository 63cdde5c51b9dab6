"""How the outcome of an attempt is made, and the failures that it lists."""

from __future__ import annotations

from collections.abc import Iterable

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.result import NO_PROGRESS, Evidence, Failure, Outcome, Reason
from brokertrial.suites.signature import signature

LATE_TAKEOVER = "late-takeover"
HANGING = "hanging-transaction"
TIMED = frozenset({NO_PROGRESS, LATE_TAKEOVER, HANGING, "no-progress", "orphan-partition"})
"""Anomalies of something that took longer than it may, which a busy machine can bring about too."""


def passed() -> Outcome:
    return Outcome(Verdict.PASS)


def failed(
    kind: str,
    sentence: str,
    evidence: tuple[Evidence, ...] = (),
    *,
    about: str = "",
    ours: str = "",
    step: str = "",
    guarantees: tuple[str, ...] = (),
) -> Outcome:
    """One failure; `about` and `ours` as for its signature."""
    failure = Failure(signature(kind, sentence, about, ours), sentence, step=step, guarantees=guarantees)
    return Outcome(Verdict.FAIL, Reason(kind, sentence), evidence, failures=(failure,))


def inconclusive(kind: str, sentence: str, evidence: tuple[Evidence, ...] = ()) -> Outcome:
    return Outcome(Verdict.INCONCLUSIVE, Reason(kind, sentence), evidence)


def not_applicable(kind: str, sentence: str) -> Outcome:
    return Outcome(Verdict.NOT_APPLICABLE, Reason(kind, sentence))


def of_anomalies(anomalies: Iterable[Anomaly]) -> tuple[Failure, ...]:
    """One failure a kind of anomaly, told by the first of its kind."""
    first = {anomaly.name: anomaly for anomaly in reversed(list(anomalies))}
    return tuple(Failure(f"anomaly:{name}", first[name].sentence) for name in reversed(first))


def derived(reason: Reason | None, anomalies: Iterable[Anomaly]) -> tuple[Failure, ...]:
    """The failures of a verdict that does not list them: what its anomalies or its reason say."""
    if found := of_anomalies(anomalies):
        return found
    told = reason or Reason("anomaly", "")
    return (Failure(signature(told.kind, told.sentence), told.sentence),)

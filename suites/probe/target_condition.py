"""How the target fares when a case has asked its last: well, dead, dead and brought back, away for a while, or sick.

What was found is on the tape of a wire case, so that `check` comes to the same verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

import msgspec
from msgspec.structs import replace

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.outcome import failed, inconclusive
from brokertrial.suites.probe.exchanger import Exchanger
from brokertrial.suites.probe.traffic import SentFrame, Traffic
from brokertrial.suites.result import FATAL, Evidence, Failure, Outcome, Reason

CROWDED = "crowded"
"""The reason of an attempt that came to no verdict because others were under way: the next one is made alone."""
UNSETTLED = "unsettled"
"""The reason of an attempt whose failure says nothing of the broker: the machine was too busy for the cluster or us."""
MOVES = frozenset({"ElectLeaders", "AlterPartitionReassignments", "UnregisterBroker"})
"""What a case asks for that moves leaderships itself."""
THIS_CASE = "this case"
"""Stands in a sentence for the request that did it, as far as that can be told."""
DIED = f"the target died of {THIS_CASE}"
AWAY = (
    f"the broker closed its connections and refused new ones while {THIS_CASE} was under way; "
    "whether it died of that, or somebody else stopped it, cannot be told from here"
)
AWAY_AGAIN = f"the broker closed its connections and refused new ones while {THIS_CASE} was under way, as once before"
WENT_AWAY = "went-away"
NOTES = {
    "died": "under way when the broker died",
    "away": "under way when the broker closed its connections",
    "sick": "sent since the target last took a record, which it does no more",
}
FOLLOWS = (*FATAL, "no-answer")
"""Failures that follow when a target is dead or sick."""


class Condition(msgspec.Struct, frozen=True):
    """What was found, as it is kept on a tape."""

    kind: Literal["well", "died", "away", "sick", "crowded", "unsettled"] = "well"
    """`crowded`: it died or fell sick while several cases were under way, this one among them; `unsettled`: leaderships
    moved, and nobody had asked for it."""
    sentence: str = ""
    since_ns: int = 0
    """When it died, where that was seen."""

    @property
    def is_gone(self) -> bool:
        """Whether it was found to be gone, or to have been."""
        return self.kind in ("died", "away")

    def upon(self, outcome: Outcome, traffic: Traffic | None = None) -> Outcome:
        """What came of the case, in view of this: the request that did it is the failure, once."""
        if self.kind == "well":
            return outcome
        if self.kind == "crowded":
            return outcome if _harmed(outcome) else inconclusive(CROWDED, self.sentence)
        if self.kind == "unsettled":
            moves_itself = traffic is not None and traffic.apis & MOVES
            return outcome if moves_itself else unsettled(outcome, f"leaderships moved by themselves: {self.sentence}")
        guilty = self._guilty(traffic) if traffic is not None else []
        evidence = tuple(line for sent in guilty for line in sent.evidence(NOTES[self.kind])) or outcome.evidence
        names = " or ".join(dict.fromkeys(sent.name for sent in guilty))
        if self.kind == "away":
            return self._unclear(outcome, self.sentence.replace(THIS_CASE, names or THIS_CASE), evidence)
        found = failed(self.kind, self.sentence.replace(THIS_CASE, names or THIS_CASE), evidence)
        failures = found.failures
        before = tuple(failure for failure in outcome.failures if not _follows(failure))
        if outcome.verdict is Verdict.FAIL and before:
            failures, evidence = (*failures, *before), (*evidence, *outcome.evidence)
        return replace(outcome, verdict=Verdict.FAIL, reason=found.reason, failures=failures, evidence=evidence)

    def _unclear(self, outcome: Outcome, sentence: str, evidence: tuple[Evidence, ...]) -> Outcome:
        """What was false before stays so; everything else says nothing while somebody may have stopped the broker."""
        before = tuple(failure for failure in outcome.failures if not _follows(failure))
        if outcome.verdict is Verdict.FAIL and before:
            return replace(outcome, failures=before, warnings=(*outcome.warnings, sentence))
        reason = Reason(WENT_AWAY, sentence)
        return replace(outcome, verdict=Verdict.INCONCLUSIVE, reason=reason, failures=(), evidence=evidence)

    def _guilty(self, traffic: Traffic) -> list[SentFrame]:
        return traffic.suspects() if self.kind == "sick" else traffic.under_way(self.since_ns)


def _harmed(outcome: Outcome) -> bool:
    """Whether it failed, and a record was harmed."""
    harms = any(one.harms for one in outcome.failures) or any(one.harms for one in outcome.anomalies)
    return harms and outcome.verdict is Verdict.FAIL


def unsettled(outcome: Outcome, why: str) -> Outcome:
    """A failure without harm to a record, in view of what may be its cause: it is tried again."""
    if outcome.verdict is not Verdict.FAIL or _harmed(outcome):
        return outcome
    sentence = f"{why}; {outcome.reason.sentence}" if outcome.reason else why
    return inconclusive(UNSETTLED, sentence, outcome.evidence)


WELL = Condition()


def gone(capabilities: Collection[str], again: bool, sentence: str = DIED, since_ns: int = 0) -> Condition:
    """A target that is gone, or was: where somebody else may have stopped it, only the second time is its own doing."""
    if "started" in capabilities:
        return Condition("died", sentence, since_ns)
    return Condition("died", AWAY_AGAIN, since_ns) if again else Condition("away", AWAY, since_ns)


def on_tape(exchanger: Exchanger, look: Callable[[], Condition]) -> Condition:
    """Looks, and keeps what was found; played back, what was found then."""
    text = exchanger.act("condition", lambda: msgspec.json.encode(look()).decode())
    return msgspec.json.decode(text, type=Condition)


def _follows(failure: Failure) -> bool:
    return failure.signature.partition(":")[0] in FOLLOWS

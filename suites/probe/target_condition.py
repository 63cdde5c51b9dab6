"""How the target fares when a case has asked its last: well, dead, dead and brought back, or sick.

What was found is on the tape of a wire case, so that `check` comes to the same verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec.structs import replace

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.outcome import FATAL, Outcome, failed
from brokertrial.suites.probe.exchanger import Exchanger
from brokertrial.suites.probe.traffic import SentFrame, Traffic
from brokertrial.suites.result import Failure

THIS_CASE = "this case"
"""Stands in a sentence for the request that did it, as far as that can be told."""
DIED = f"the target died of {THIS_CASE}"
NOTES = {
    "died": "under way when the broker died",
    "sick": "sent since the target last took a record, which it does no more",
}
FOLLOWS = (*FATAL, "no-answer")
"""Failures that follow when a target is dead or sick."""


class Condition(msgspec.Struct, frozen=True):
    """What was found, as it is kept on a tape."""

    kind: Literal["well", "died", "sick"] = "well"
    sentence: str = ""
    since_ns: int = 0
    """When it died, where that was seen."""

    def upon(self, outcome: Outcome, traffic: Traffic | None = None) -> Outcome:
        """What came of the case, in view of this: the request that did it is the failure, once."""
        if self.kind == "well":
            return outcome
        guilty = self._guilty(traffic) if traffic is not None else []
        evidence = tuple(line for sent in guilty for line in sent.evidence(NOTES[self.kind])) or outcome.evidence
        names = " or ".join(dict.fromkeys(sent.name for sent in guilty))
        found = failed(self.kind, self.sentence.replace(THIS_CASE, names or THIS_CASE), evidence)
        failures = found.failures
        before = tuple(failure for failure in outcome.failures if not _follows(failure))
        if outcome.verdict is Verdict.FAIL and before:
            failures, evidence = (*failures, *before), (*evidence, *outcome.evidence)
        return replace(outcome, verdict=Verdict.FAIL, reason=found.reason, failures=failures, evidence=evidence)

    def _guilty(self, traffic: Traffic) -> list[SentFrame]:
        return traffic.under_way(self.since_ns) if self.kind == "died" else traffic.suspects()


WELL = Condition()


def on_tape(exchanger: Exchanger, look: Callable[[], Condition]) -> Condition:
    """Looks, and keeps what was found; played back, what was found then."""
    text = exchanger.act("condition", lambda: msgspec.json.encode(look()).decode())
    return msgspec.json.decode(text, type=Condition)


def _follows(failure: Failure) -> bool:
    return failure.signature.partition(":")[0] in FOLLOWS

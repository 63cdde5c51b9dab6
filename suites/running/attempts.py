"""What the attempts at a case come to together: an anomaly that one of them saw is never repeated away.

    attempt 1    inconclusive, saw a phantom      a client never ended, whose missing record may explain it
    attempt 2    pass                             -> inconclusive (`unreproduced`), the phantom in sight
    attempt 2    fail                             -> fail

What its own operations prove fails the attempt that saw it, whatever else is missing there, and no other attempt is
made. What the wire proved to be a client's doing is held against nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.probe.target_condition import CROWDED, WENT_AWAY
from brokertrial.suites.result import Attempt, Outcome, Reason

NEEDS = "needs"
SHOWN = 10
"""Anomalies that are kept of one attempt."""


def attempt_of(outcome: Outcome, seed: int, folder: str) -> Attempt:
    """One attempt, with what it saw."""
    suspected = tuple(anomaly for anomaly in outcome.anomalies if anomaly.attribution != "client")[:SHOWN]
    return Attempt(seed, outcome.verdict, outcome.reason, folder, suspected)


def concluded(outcome: Outcome, attempts: Sequence[Attempt]) -> Outcome:
    """The outcome of the last attempt, unless an earlier one saw what the last did not see again."""
    if outcome.verdict is Verdict.FAIL or outcome.anomalies:
        return outcome
    if outcome.reason is not None and outcome.reason.kind == NEEDS:  # another case has failed by it meanwhile
        return outcome
    for number, attempt in enumerate(attempts, 1):
        if attempt.reason is not None and attempt.reason.kind == WENT_AWAY and outcome.reason != attempt.reason:
            sentence = (
                f"attempt {number} (seed {attempt.seed}): {attempt.reason.sentence}. No later attempt saw it again"
            )
            return msgspec.structs.replace(
                outcome, verdict=Verdict.INCONCLUSIVE, reason=Reason(WENT_AWAY, sentence), anomalies=attempt.anomalies
            )
        if attempt.anomalies:
            if outcome.verdict is Verdict.INCONCLUSIVE:
                return msgspec.structs.replace(outcome, anomalies=attempt.anomalies)
            first = attempt.anomalies[0]
            crowded = attempt.reason is not None and attempt.reason.kind == CROWDED
            excuse = "Other cases were under way then" if crowded else "That attempt was incomplete, which may be why"
            sentence = (
                f"attempt {number} (seed {attempt.seed}) saw {first.name}: {first.sentence} "
                f"{excuse}; later attempts did not reproduce it"
            )
            return msgspec.structs.replace(
                outcome,
                verdict=Verdict.INCONCLUSIVE,
                reason=Reason("unreproduced", sentence),
                anomalies=attempt.anomalies,
            )
    return outcome


def severity(level: str, outcome: Outcome) -> str:
    """The level that counts: harm to a record, or to the target, is a failure also in a case about a `should`."""
    harmed = any(anomaly.harms and anomaly.attribution == "broker" for anomaly in outcome.anomalies)
    harmed = harmed or any(failure.harms for failure in outcome.failures)
    return "must" if outcome.verdict is Verdict.FAIL and (harmed or outcome.fatal) else level

"""What an attempt is worth in which something that was done to a node did not reach its broker."""

from __future__ import annotations

from collections.abc import Iterable

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.outcome import inconclusive
from brokertrial.suites.result import Outcome
from brokertrial.suites.targets.effects import OUT_OF_REACH, CheckedNode


def unless_missed(outcome: Outcome, nodes: Iterable[CheckedNode]) -> Outcome:
    """The outcome; inconclusive where an act missed its broker. What its own operations prove stays.

    What else failed may be of our doing: the process that we ended is gone, and the broker is not.
    """
    missed = next((node.missed for node in nodes if node.missed), "")
    proven = any(one.stands_alone for one in outcome.anomalies) or any(failure.harms for failure in outcome.failures)
    if not missed or (outcome.verdict is Verdict.FAIL and proven):
        return outcome
    return inconclusive(OUT_OF_REACH, missed)

"""Several cases under way at once, and how the target fares under them.

A target that dies or falls sick meanwhile is no single case's doing, as far as can be seen: everybody under way is a
suspect, comes to no verdict, and is tried again alone. A case after which the target was well is no suspect any more.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case
from brokertrial.suites.outcome import TIMED
from brokertrial.suites.probe.target_condition import CROWDED, THIS_CASE, WELL, Condition
from brokertrial.suites.result import Outcome, Reason
from brokertrial.suites.situations import Disturb

if TYPE_CHECKING:
    from brokertrial.suites.running.liveness import Liveness

SEVERAL = "one of several cases"


class Crowd:
    """Opened while nobody is under way; `closed` as soon as the target is not well."""

    def __init__(self, liveness: Liveness) -> None:
        self.closed = False
        self.found = WELL
        self.suspects: tuple[str, ...] = ()
        """The cases that were under way when the target died or fell sick."""
        self._liveness = liveness
        self._members: dict[str, None] = {}
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._last_look = 0.0
        liveness.begin_together()

    def lacking(self, case: Case) -> Reason | None:
        """See Liveness."""
        with self._looking:
            return self._liveness.lacking(case)

    def enter(self, case: str) -> None:
        """A case is under way."""
        with self._lock:
            self._members[case] = None

    def leave(self, case: str) -> None:
        """A case is over, or has sent its last request."""
        with self._lock:
            self._members.pop(case, None)

    def look(self, case: str, stuck: bool) -> Condition:
        """How the target fares, now that a case has sent its last request; one look serves all who wait for it."""
        asked = time.monotonic()
        with self._looking:
            if not self.closed and self._last_look < asked:
                self._last_look = time.monotonic()
                self.found = self._liveness.look(stuck)
            return self._told(case)

    def _told(self, case: str) -> Condition:
        if self.found.kind == "well":
            self.leave(case)
            return WELL
        with self._lock:
            if not self.closed:
                self.closed, self.suspects = True, tuple(self._members)
        if self.suspects == (case,) or self.found.kind == "away":  # which accuses nobody
            return self.found
        return Condition("crowded", self.found.sentence.replace(THIS_CASE, SEVERAL))


class CrowdMember:
    """What one case of a crowd sees of the target: the part of Liveness that an attempt asks."""

    blind = False

    def __init__(self, crowd: Crowd, case: Case) -> None:
        self._crowd = crowd
        self._case = case
        self._looked = False

    def lacking(self, case: Case) -> Reason | None:
        """Why the case cannot be judged on a target that takes no record."""
        return self._crowd.lacking(case)

    def begin(self, case: Case, went_away: bool = False) -> None:
        """The attempt begins; it is the first."""
        self._crowd.enter(case.id)

    def expect_faults(self, needs: frozenset[str]) -> None:
        """A case that hurts a node is in no crowd."""

    def disturbing(self, act: Disturb) -> Disturb:
        """How a case disturbs all nodes: in no crowd."""
        return act

    def look(self, stuck: bool = False) -> Condition:
        """How the target fares, now that the case has sent its last request."""
        self._looked = True
        return self._crowd.look(self._case.id, stuck)

    def look_after_trial(self, stuck: bool) -> Condition:
        """The same after a trial."""
        return self.look(stuck)

    def after(self, outcome: Outcome) -> Outcome:
        """The outcome of the attempt in view of how the target fares."""
        try:
            return unless_late(outcome if self._looked else self.look(outcome.is_stuck).upon(outcome))
        finally:
            self._crowd.leave(self._case.id)


def unless_late(outcome: Outcome) -> Outcome:
    """What only took too long is no failure yet: its neighbours may have slowed it. The next attempt is made alone."""
    names = {anomaly.name for anomaly in outcome.anomalies}
    by_anomaly = outcome.verdict is Verdict.FAIL and outcome.reason is not None and outcome.reason.kind == "anomaly"
    if not by_anomaly or names - TIMED:
        return outcome
    reason = Reason(CROWDED, f"{', '.join(sorted(names))}; other cases were under way")
    return replace(outcome, verdict=Verdict.INCONCLUSIVE, reason=reason, failures=())

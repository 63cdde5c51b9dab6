"""A target that does not start with its own data any more goes on without them: one bug does not end a run.

A case that killed the node says itself that it did not come back. Of any other it is said here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from msgspec.structs import replace

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.outcome import inconclusive
from brokertrial.suites.probe.target_condition import UNSETTLED, Condition
from brokertrial.suites.result import Evidence, Outcome
from brokertrial.suites.targets import Target, TargetNotReady
from brokertrial.suites.targets.process import NodeEnded
from brokertrial.suites.targets.processes import ProcessTarget

LOG = logging.getLogger("brokertrial.run")
COSTS_AT_MOST_S = 300.0
"""What all the starts together may take that came to nothing; then the run ends."""
NOT_ITS_OWN = "it does not start again with its own data"
WITHOUT = "the cases that follow have a target without data"


class FreshStart:
    """Brings a target back. `addresses_stay`: a proxy before it knows where its nodes are, so that they cannot move."""

    def __init__(self, target: Target, *, addresses_stay: bool = False) -> None:
        self._target = target
        self._may = isinstance(target, ProcessTarget) and not addresses_stay
        self._cost_s = 0.0
        self._problem: TargetNotReady | None = None

    def recover(self) -> None:
        """Every node serves again, with its own data where it can; raises TargetNotReady where none can be had."""
        self._or_without_data(self._target.recover)

    def restart(self) -> None:
        """The same, of nodes that are ended first, however they fare."""
        self._or_without_data(self._target.restart)

    def _or_without_data(self, bring_back: Callable[[], None]) -> None:
        began = time.monotonic()
        try:
            bring_back()
        except TargetNotReady as problem:
            self._cost_s += time.monotonic() - began
            if not self._may or self._cost_s > COSTS_AT_MOST_S:
                raise
            LOG.warning("target is started without its data", extra={"why": problem.said})
            assert isinstance(self._target, ProcessTarget)
            self._target.start_without_data()
            self._problem = problem

    def taken(self) -> TargetNotReady | None:
        """Why it was started without its data since this was asked last; None where it was not."""
        problem, self._problem = self._problem, None
        return problem

    def upon(self, outcome: Outcome) -> Outcome:
        """What came of a case, in view of how the target came back after it; said once.

        A node that ended by itself as it was started has failed; that another did not serve in time is a warning of a
        case that failed, and else leaves it undecided.
        """
        problem = self.taken()
        if problem is None:
            return outcome
        sentence = f"{NOT_ITS_OWN}: {problem.sentence}"
        outcome = replace(outcome, warnings=(*outcome.warnings, f"{sentence}; {WITHOUT}"))
        if outcome.verdict is Verdict.FAIL:
            return outcome
        log = tuple(Evidence("log", line) for line in problem.last_lines)
        if not isinstance(problem, NodeEnded):
            return replace(inconclusive(UNSETTLED, sentence, log), warnings=outcome.warnings)
        return replace(Condition("died", sentence).upon(outcome), evidence=log)

"""One case on its way to a verdict: its attempts, and what they come to together.

Inconclusive is tried again with the next seed, a failure never. The first attempt may be one of several that are under
way side by side; every other one has the target to itself.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.clock import now_ns
from brokertrial.suites.case import Case
from brokertrial.suites.events import CaseStarted, RunEvent
from brokertrial.suites.outcome import inconclusive
from brokertrial.suites.probe.promptness import SLOW
from brokertrial.suites.probe.target_condition import WENT_AWAY
from brokertrial.suites.result import Attempt, CaseResult, Outcome
from brokertrial.suites.running.attempts import attempt_of, concluded
from brokertrial.suites.running.crowd import CrowdMember
from brokertrial.suites.running.estimates import RepeatBudget
from brokertrial.suites.running.fresh_start import FreshStart
from brokertrial.suites.running.health import Health
from brokertrial.suites.running.interruption import Interruption
from brokertrial.suites.running.liveness import Liveness
from brokertrial.suites.running.run_folder import history_of
from brokertrial.suites.running.run_wide_faults import RunWideFaults
from brokertrial.suites.running.support import TargetSupport, unmet_need
from brokertrial.suites.targets.effects import OUT_OF_REACH

LOG = logging.getLogger("brokertrial.run")
ATTEMPTS = 3
NO_MORE_REPEATS = "it was not tried again: the second and third attempts of this run have taken as long as they may"
UNWRITTEN = "unwritten"  # the disk, not the broker: another attempt would meet it again


class CaseSession(Protocol):
    """The part of a TargetSession that brings a case to its verdict; see there."""

    run_dir: Path
    seed: int
    offer: TargetSupport
    liveness: Liveness
    health: Health
    fresh_start: FreshStart
    repeats: RepeatBudget
    interruption: Interruption

    @property
    def emit(self) -> Callable[[RunEvent], None]: ...
    @property
    def run_wide_faults(self) -> RunWideFaults | None: ...
    def attempt(
        self, case: Case, number: int, member: CrowdMember | None = None, went_away: bool = False
    ) -> Outcome: ...
    def bring_back(self) -> None: ...
    def restore(self, case: Case | None = None, failed_in: str = "", *, failed: bool = False) -> tuple[str, ...]: ...
    def finish(
        self, case: Case, began: int, spent_ns: int, attempts: list[Attempt], outcome: Outcome, number: int
    ) -> CaseResult: ...


class CaseRun:
    """A case of a run: `try_once` until it `is_over`, then `finish`."""

    def __init__(self, session: CaseSession, case: Case, index: int, total: int, estimate_s: float = 0.0) -> None:
        self.case = case
        self.attempts: list[Attempt] = []
        self._session = session
        self._place = index, total
        self.estimate_s = estimate_s
        self._began = now_ns()
        self._outcome = inconclusive("interrupted", "the run was interrupted before this case came to its end")
        self._number = 0
        self._spent_ns = 0
        self._is_given_up = False

    @property
    def is_over(self) -> bool:
        """Whether no other attempt is made."""
        outcome = self._outcome
        undecided = outcome.verdict is Verdict.INCONCLUSIVE and not _not_again(outcome)
        return self._number > 0 and (not undecided or self._number >= ATTEMPTS or self._is_given_up)

    @property
    def _went_away(self) -> bool:
        """Whether an earlier attempt at this case found the target gone for a while."""
        return any(attempt.reason is not None and attempt.reason.kind == WENT_AWAY for attempt in self.attempts)

    def anew(self) -> CaseRun:
        """The same case with no attempt made; what was recorded of those that were is removed."""
        for number in range(1, self._number + 1):
            shutil.rmtree(self._session.run_dir / history_of(self.case.id, number), ignore_errors=True)
        return CaseRun(self._session, self.case, *self._place, self.estimate_s)

    def to_verdict(self) -> CaseResult:
        """All attempts that are still to be made, alone on the target."""
        while not self.is_over:
            self.try_once()
        return self.finish()

    def given_up(self) -> CaseResult:
        """The result of the attempts that were made: no other is worth its time."""
        self._is_given_up = True
        self._outcome = msgspec.structs.replace(self._outcome, warnings=(*self._outcome.warnings, NO_MORE_REPEATS))
        return self.finish()

    def try_once(self, member: CrowdMember | None = None) -> None:
        """One attempt; with `member` while other cases are under way."""
        session, case = self._session, self.case
        liveness = member or session.liveness
        if self._number == 0 and (reason := unmet_need(case, session.offer) or liveness.lacking(case)) is not None:
            session.emit(CaseStarted(case.id, *self._place))
            self._number, self._outcome = 1, Outcome(Verdict.NOT_APPLICABLE, reason)
            return
        self._number += 1
        began_ns, went_away = now_ns(), self._went_away
        try:
            session.emit(CaseStarted(case.id, *self._place, self._number, self.estimate_s))
            liveness.begin(case, went_away)
            with session.run_wide_faults.around(case) if session.run_wide_faults else contextlib.nullcontext():
                outcome = session.attempt(case, self._number, member, went_away)
            session.interruption.check()
            self._keep_failure(outcome)
            if member is None:
                session.bring_back()
            outcome = session.fresh_start.upon(liveness.after(outcome))
            self._keep_failure(outcome)
            self.attempts.append(self._attempt_of(outcome))
            LOG.info("attempt ends", extra={"case": case.id, "attempt": self._number, "verdict": str(outcome.verdict)})
            failed = outcome.verdict is Verdict.FAIL
            restored = session.restore(case, failed=failed) if member is None else ()
            outcome = self._again_judged(session.fresh_start.upon(outcome), outcome)
            warned = (*outcome.warnings, *restored, *session.health.slowness())
            session.repeats.spend((now_ns() - began_ns) / 1e9, self._number)
            if outcome.verdict is Verdict.INCONCLUSIVE and not _not_again(outcome) and session.repeats.left_s <= 0:
                self._is_given_up, warned = True, (*warned, NO_MORE_REPEATS)
            self._outcome = msgspec.structs.replace(outcome, warnings=warned)
        except BaseException:
            self._number = max(len(self.attempts), 1)
            self._spent_ns += now_ns() - began_ns
            self.finish()
            raise
        self._spent_ns += now_ns() - began_ns

    def _attempt_of(self, outcome: Outcome) -> Attempt:
        return attempt_of(outcome, self._session.seed + self._number - 1, history_of(self.case.id, self._number))

    def _again_judged(self, outcome: Outcome, before: Outcome) -> Outcome:
        """An outcome that became another after its attempt was kept."""
        if outcome is not before:
            self._keep_failure(outcome)
            self.attempts[-1] = self._attempt_of(outcome)
        return outcome

    def _keep_failure(self, outcome: Outcome) -> None:
        """What failed stands, also where a target that does not come back ends the run; so does why it may not."""
        if outcome.verdict is Verdict.FAIL or (outcome.reason is not None and outcome.reason.kind == OUT_OF_REACH):
            self._outcome = outcome

    def finish(self) -> CaseResult:
        """The result, told to everybody."""
        return self._session.finish(
            self.case,
            self._began,
            self._spent_ns,
            self.attempts,
            concluded(self._outcome, self.attempts),
            self._number,
        )


def _not_again(outcome: Outcome) -> bool:
    """Whether another attempt would meet the same."""
    return outcome.reason is not None and outcome.reason.kind in (UNWRITTEN, SLOW, OUT_OF_REACH)

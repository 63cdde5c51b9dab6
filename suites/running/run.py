"""One run: its cases chosen, its target started, each case to its verdict, everything cleared away, one exit status."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.tempdirs import holding
from brokertrial.suites.capabilities import NETWORK
from brokertrial.suites.case import Case, all_cases
from brokertrial.suites.events import (
    CaseFinished,
    CaseStarted,
    LeftOut,
    PhaseChanged,
    RunEvent,
    RunFinished,
    RunStarted,
    TrialProgress,
)
from brokertrial.suites.exit_status import ExitStatus, exit_status
from brokertrial.suites.outcome import not_applicable
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.prerequisites import OWNERS, owners_first
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running import claims
from brokertrial.suites.running.byte_faults import toxiproxies_for
from brokertrial.suites.running.case_info import case_info
from brokertrial.suites.running.case_run import CaseRun
from brokertrial.suites.running.earlier import Earlier
from brokertrial.suites.running.end_notes import end_notes
from brokertrial.suites.running.estimates import REPEATS_AT_LEAST_S, RepeatBudget, healthy_s, run_limit_s
from brokertrial.suites.running.event_log import log_event
from brokertrial.suites.running.gathered import Gathered
from brokertrial.suites.running.interruption import Interruption
from brokertrial.suites.running.needs_cluster import why_alone
from brokertrial.suites.running.options import RunOptions, default_jobs
from brokertrial.suites.running.run_wide_faults import open_run_wide_faults
from brokertrial.suites.running.selection import quick_first, select, within_budget
from brokertrial.suites.running.session import TargetSession
from brokertrial.suites.running.side_by_side import SideBySide
from brokertrial.suites.running.support import unmet_need
from brokertrial.suites.situations.choice import chosen_pairs
from brokertrial.suites.situations.pair_record import record
from brokertrial.suites.situations.pairs import named_pairs
from brokertrial.suites.targets import Target, TargetNotReady, TargetProblem, open_target

NOT_PASSED = "the case as it is written has not passed"
GOES_ON = (CaseStarted, PhaseChanged, TrialProgress)
"""Events at which an interrupted run ends."""


class RunResult(msgspec.Struct, frozen=True):
    """What came of a run."""

    status: int
    """The exit status: see suites/exit_status.py."""
    results: tuple[CaseResult, ...]
    folder: Path


class Enough(Exception):
    """A listener raises it when a case is finished: no other case is run, and the run ends as usual."""


def run(
    options: RunOptions, *listeners: Callable[[RunEvent], object], cases: Sequence[Case] | None = None
) -> RunResult:
    """Runs the cases that the options choose, and removes what they made; each listener gets every event, in order.

    Raises BadOptions or TargetProblem where the options cannot be run at all. Ctrl-C ends the run: status 2.
    """
    return Run(options, *listeners).to_the_end(all_cases() if cases is None else cases)


class Run:
    """The story of a run. `listeners` get every event; `status` is the exit status once it is over."""

    def __init__(self, options: RunOptions, *listeners: Callable[[RunEvent], object]) -> None:
        self.options = options.validated().in_folder()
        self.seed = self.options.seed or 0
        self.run_dir = Path(self.options.run_dir or "")
        self.cases: list[Case] = []
        self.left: list[tuple[Case, str]] = []
        self.status = ExitStatus.INTERNAL
        self._listeners = (log_event, *listeners)
        self._session: TargetSession | None = None
        self._target: Target | None = None
        self._problem: TargetProblem | None = None
        self._mistake = ""
        self._enough = False
        self._telling = threading.RLock()
        self._told_the_end = False
        self._undo = contextlib.ExitStack()
        self.interruption = Interruption()
        self._began = time.monotonic()

    def to_the_end(self, cases: Sequence[Case]) -> RunResult:
        """From the choice of the cases to the exit status; a target that is lost is no exception, nor is Ctrl-C."""
        interrupted = False
        with self.interruption:
            try:
                self.choose(cases)
                if self.start():
                    self._loop()
            except KeyboardInterrupt:
                interrupted = True
            except TargetProblem as problem:
                self._problem = problem
            except Exception as error:  # noqa: BLE001 - ours, and said: the verdicts so far stand
                traceback.print_exc()
                self._mistake = f"{type(error).__name__}: {error}"
            finally:
                self.finish(interrupted)
        return RunResult(self.status, tuple(self.results), self.run_dir)

    def _loop(self) -> None:
        """Every case as it is written, then those that have passed in their situations, then what parts the nodes:
        for that the target is started anew, each node in a network namespace."""
        plain = [case for case in self.cases if case.situation is None and not _parts_nodes(case)]
        early = {*self.options.first, *OWNERS} if self.options.first else set[str]()
        self._each([case for case in plain if case.id in early])
        self._each([case for case in plain if case.id not in early])
        passed = {result.case for result in self.results if result.verdict is Verdict.PASS}
        pairs = [case for case in self.cases if case.situation is not None]
        for case in pairs:
            if case.plain_id not in passed and self.awaits(case.id) and not self.over:
                self._require_session().tell(CaseResult.of(case, not_applicable("needs", NOT_PASSED)))
        pairs = [case for case in pairs if case.plain_id in passed]
        self._each([case for case in pairs if not case.hurts])
        self._gather([case for case in pairs if case.hurts and self.awaits(case.id)])
        self._each([case for case in self.cases if _parts_nodes(case)])

    def _gather(self, pairs: list[Case]) -> None:
        """Those that have their nodes disturbed: the short ones of one kind wait for each other."""
        if self.jobs > 1 and not self.over:
            gathered = Gathered(self._require_session(), self._to_verdict, self._settle, lambda: self.over)
            gathered.run([self._case_run(case) for case in pairs])
            return
        for case in pairs:
            self._one(case)

    def _each(self, cases: Sequence[Case]) -> None:
        """Those that have no result yet: what others rest on, what runs side by side, then the others."""
        suspects = self.options.earlier.suspects if self.options.earlier else ()
        waiting = [case for case in cases if self.awaits(case.id)]
        waiting.sort(key=lambda case: case.id not in suspects)
        together = [case for case in waiting if self._is_together(case)]
        if len(together) < 2:
            together = []
        first = waiting[: waiting.index(together[0])] if together else waiting
        for case in first:
            self._one(case)
        if together and not self.over:
            crowd = SideBySide(self._require_session(), self.jobs, self._to_verdict, self._settle, lambda: self.over)
            crowd.run([self._case_run(case) for case in together])
        for case in waiting:
            if case not in first and case not in together:
                self._one(case)

    def _one(self, case: Case) -> None:
        if not self.over:
            self.run(case)

    def _is_together(self, case: Case) -> bool:
        suspected = self.options.earlier is not None and case.id in self.options.earlier.suspects
        return self.jobs > 1 and not suspected and not why_alone(case)

    @property
    def jobs(self) -> int:
        """How many cases may be under way at once."""
        if self.options.through or self.options.refute:
            return 1  # what is edited for one would be edited for all
        return self.options.jobs or default_jobs()

    @property
    def results(self) -> list[CaseResult]:
        """The results so far."""
        if self._session is not None and self._session.results:
            return self._session.results
        return list(self.options.earlier.results if self.options.earlier else ())

    def emit(self, event: RunEvent) -> None:
        """Tells every listener; events of cases side by side come one after the other."""
        if isinstance(event, GOES_ON):
            self.interruption.check()  # a library may have swallowed the exception, and a thread has none
        with self._telling:
            if self._told_the_end:
                return  # a thread that did not end in time
            self._told_the_end = isinstance(event, RunFinished)
            for listener in self._listeners:
                try:
                    listener(event)
                except Enough:
                    self._enough = True

    def choose(self, cases: Sequence[Case]) -> list[Case]:
        """The cases of this run in their order: by selection, profile and budget. Raises UnknownSelection."""
        taken, left = select(cases, self.options.select, self.options.deselect, self.options.profile, claims.names())
        budget_s = None if self.options.budget is None else self.options.budget * 60
        if self.options.refute:
            taken = [case for case in taken if case.tampered_responses]
        together_first = sorted(quick_first(taken, self.estimate), key=lambda case: bool(why_alone(case)))
        ordered = sorted(owners_first(together_first), key=_parts_nodes)
        pairs = named_pairs(self.options.select) + chosen_pairs(
            ordered, self.options.situations, self.seed, record(), self.estimate
        )
        pairs = [one for one in pairs if not any(fnmatchcase(one.id, each) for each in self.options.deselect)]
        self.cases, too_much = within_budget([*ordered, *pairs], self.estimate, budget_s, self.options.first)
        self.left = left + too_much
        return self.cases

    def estimate(self, case: Case) -> float:
        """Seconds that a case takes on a healthy target; nothing where the target lacks what it needs."""
        if self._session is not None and unmet_need(case, self._session.offer) is not None:
            return 0.0
        return healthy_s(case, self.options.profile)

    def start(self) -> bool:
        """Starts the target and learns what it offers; False when it never became ready."""
        earlier = self.options.earlier
        if earlier is not None and earlier.ended:
            self._tell_again(earlier, announce=True)
            return False
        self.run_dir.mkdir(parents=True, exist_ok=True)
        self._undo.enter_context(holding(self.run_dir))
        try:
            folder = f"target~{earlier.crashes + 1}" if earlier else "target"
            target = open_target(self.options.target, self.run_dir / folder)
            self._undo.callback(target.stop)
            self._target = target
            target.begins_in_network = bool(self.cases) and all(map(_parts_nodes, self.cases))
            target.start()
            self._session = TargetSession(
                target,
                self.run_dir,
                seed=self.seed,
                profile=self.options.profile,
                claims=self.options.claims,
                emit=self.emit,
                unproven=self.options.unproven,
                run_wide_faults=open_run_wide_faults(self.options.through, self.options.refute),
                interruption=self.interruption,
                require=self.options.require,
                release=self.options.release,
                alone=self.options.each_alone,
                toxiproxies=toxiproxies_for(self.cases, target, self.options.toxiproxy),
                repeats=RepeatBudget(max(REPEATS_AT_LEAST_S, sum(map(self.estimate, self.cases)))),
            )
            self._undo.callback(self._session.close)
            self._session.open()
        except TargetProblem as problem:
            self._problem = problem
        except (BrokerAtFault, NotApplicable, Unclear) as problem:
            self._problem = TargetNotReady(f"{self.options.target} was reached, and then did not serve: {problem}")
        if self._problem is not None or self._session is None:
            if earlier is not None:
                self._tell_again(earlier, announce=True)
            return False
        self._announce(self._session)
        return True

    def finish(self, interrupted: bool = False) -> None:
        """Ends everything that was started, and states the exit status. What cannot be ended is said, not raised."""
        tail: tuple[str, ...] = ()
        earlier = self.options.earlier
        error = self._mistake or (earlier.ended if earlier else "")
        interrupted = interrupted or bool(earlier and earlier.interrupted)
        if self._session is not None and self._problem is None and not interrupted:
            self._promised(self._session, self._session.unkept_promises())
        if self._problem is not None:
            error = f"{self._problem.said}{self._unrun(len(self.results))}"
            tail = self._problem.last_lines if isinstance(self._problem, TargetNotReady) else ()
        try:
            self._undo.close()
        except Exception as trouble:  # noqa: BLE001 - the verdicts stand, whatever the clearing away meets
            error = error or f"clearing away failed: {type(trouble).__name__}: {trouble}"
        if self._problem is not None and not self.results and not interrupted:
            self.status = self._problem.exit_status
        else:
            self.status = exit_status(self.results, interrupted=interrupted, ready=self._problem is None)
        if self._mistake and self.status not in (ExitStatus.FAILED, ExitStatus.INTERRUPTED):
            self.status = ExitStatus.INTERNAL
        if earlier and self.status in (ExitStatus.PASSED, ExitStatus.NOTHING_JUDGED):  # the client library crashed
            self.status = ExitStatus.INCONCLUSIVE
        spent_s = time.monotonic() - self._began + (earlier.spent_s if earlier else 0.0)
        self.interruption.reporting = True
        self.emit(
            RunFinished(self.status, interrupted, error, spent_s, (*tail, *end_notes(self._target, self.results)))
        )

    def awaits(self, case_id: str) -> bool:
        """Whether a case has no result yet."""
        return self.options.earlier is None or case_id not in self.options.earlier.judged

    @property
    def over(self) -> bool:
        """Whether no other case is run: the target could not be brought back, or a listener has seen enough."""
        return self._problem is not None or self._enough

    def _unrun(self, done: int) -> str:
        """A sentence on the cases that the loss of the target left without a verdict."""
        lost = len(self.cases) - done
        if not done or lost <= 0:
            return ""
        return f"\nIt could not be brought back: {lost} of {len(self.cases)} cases were not run."

    def run(self, case: Case) -> CaseResult:
        """Runs one case to its verdict, alone on the target."""
        place = self.cases.index(case) + 1, len(self.cases)
        return self._guarded(case, lambda: self._require_session().run(case, *place, self.estimate(case)))

    def _case_run(self, case: Case) -> CaseRun:
        place = self.cases.index(case) + 1, len(self.cases)
        return CaseRun(self._require_session(), case, *place, self.estimate(case))

    def _to_verdict(self, case_run: CaseRun) -> CaseResult:
        return self._guarded(case_run.case, case_run.to_verdict)

    def _guarded(self, case: Case, judge: Callable[[], CaseResult]) -> CaseResult:
        try:
            result = judge()
        except TargetProblem as problem:
            self._problem = problem
            raise
        except Exception as error:  # noqa: BLE001 - ours, and said: no case is lost without a word
            result = self._require_session().lost(case, error)
        self.interruption.check()  # it may have come where Python lets nothing out: in a finalizer
        return self._settle(result)

    def _settle(self, result: CaseResult) -> CaseResult:
        """Drops the histories that are not to be kept."""
        if self.options.keep == "failed" and result.verdict is Verdict.PASS:
            for attempt in result.attempts:
                shutil.rmtree(self.run_dir / attempt.history, ignore_errors=True)
        return result

    def _require_session(self) -> TargetSession:
        assert self._session is not None, "the target is started first"
        return self._session

    def _estimated_s(self) -> float:
        """Seconds for all cases."""
        together = [self.estimate(case) for case in self.cases if self._is_together(case)]
        alone_s = sum(self.estimate(case) for case in self.cases) - sum(together)
        return alone_s + max(sum(together) / self.jobs, max(together, default=0.0))

    def _announce(self, session: TargetSession) -> None:
        cases = tuple(case_info(case, self.estimate(case)) for case in self.cases)
        self.emit(
            RunStarted(
                folder=str(self.run_dir),
                target=self.options.target,
                target_version=session.version,
                profile=self.options.profile,
                seed=self.seed,
                started_at=datetime.now(UTC).isoformat(timespec="seconds"),
                estimate_s=self._estimated_s(),
                limit_s=run_limit_s([case for case in self.cases if self.estimate(case)], self.options.profile),
                cases=cases,
                left_out=tuple(LeftOut(case.id, why) for case, why in self.left),
                told_again=self.options.earlier.told if self.options.earlier else 0,
                claims=dict(session.claims),
            )
        )
        if self.options.earlier is not None:
            session.results += self.options.earlier.results
            self._tell_again(self.options.earlier)
        self._promised(session, session.broken_promises())

    def _tell_again(self, earlier: Earlier, announce: bool = False) -> None:
        if announce:
            self.emit(msgspec.structs.replace(earlier.announced, told_again=earlier.told))
        for result in earlier.results:
            self.emit(CaseFinished(result))

    def _promised(self, session: TargetSession, broken: Sequence[CaseResult]) -> None:
        for result in broken:
            deselected = any(fnmatchcase(result.case, pattern) for pattern in self.options.deselect)
            if self.awaits(result.case) and not deselected:
                session.results.append(result)
                self.emit(CaseFinished(result))


def _parts_nodes(case: Case) -> bool:
    return NETWORK in case.needs

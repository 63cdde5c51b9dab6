"""One run: its cases chosen, its target started, each case to its verdict, everything cleared away, one exit status."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.tempdirs import holding
from brokertrial.suites.case import Case
from brokertrial.suites.events import CaseFinished, CaseInfo, LeftOut, RunEvent, RunFinished, RunStarted
from brokertrial.suites.exit_status import INCONCLUSIVE, NOTHING_JUDGED, OK, OUR_FAULT, exit_status
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.probe.prerequisites import owners_first
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running import claims
from brokertrial.suites.running.earlier import Earlier
from brokertrial.suites.running.estimates import REPEATS_AT_LEAST_S, RepeatBudget, healthy_s, run_limit_s
from brokertrial.suites.running.interruption import Interruption
from brokertrial.suites.running.requirements import CORE
from brokertrial.suites.running.run_wide_faults import open_run_wide_faults
from brokertrial.suites.running.selection import quick_first, select, within_budget
from brokertrial.suites.running.session import TargetSession
from brokertrial.suites.running.support import unmet_need
from brokertrial.suites.targets import TargetNotReady, TargetProblem, open_target


class Options(msgspec.Struct, frozen=True):
    """What the command line asked for."""

    target: str
    profile: str = "full"
    budget_min: float | None = None
    seed: int | None = None
    select: tuple[str, ...] = ()
    deselect: tuple[str, ...] = ()
    claims: Mapping[str, bool] = {}
    run_dir: str | None = None
    keep: str = "all"
    unproven: str = "warn"
    through: str | None = None
    refute: bool = False
    require: tuple[str, ...] = (CORE,)
    release: tuple[int, ...] = ()
    earlier: Earlier | None = None
    """What an earlier process of this run has judged."""
    alone: bool = False


class Run:
    """The story of a run. `emit` gets every event; `status` is the exit status once it is over."""

    def __init__(self, options: Options, emit: Callable[[RunEvent], None]) -> None:
        self.options = options
        self.emit = emit
        self.seed = options.seed if options.seed is not None else time.time_ns() % 1_000_000
        self.run_dir = Path(options.run_dir) if options.run_dir else _default_folder(options.target, self.seed)
        self.cases: list[Case] = []
        self.left: list[tuple[Case, str]] = []
        self.status = OUR_FAULT
        self._session: TargetSession | None = None
        self._problem: TargetProblem | None = None
        self._undo = contextlib.ExitStack()
        self._interruption = Interruption()
        self._began = time.monotonic()

    def choose(self, cases: Sequence[Case]) -> list[Case]:
        """The cases of this run in their order: by selection, profile and budget. Raises UnknownSelection."""
        taken, left = select(cases, self.options.select, self.options.deselect, self.options.profile, claims.names())
        budget_s = None if self.options.budget_min is None else self.options.budget_min * 60
        if self.options.refute:
            taken = [case for case in taken if case.tampered_responses]
        ordered = owners_first(quick_first(taken, self.estimate))
        self.cases, too_much = within_budget(ordered, self.estimate, budget_s)
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
        self._undo.enter_context(self._interruption)
        self._undo.enter_context(holding(self.run_dir))
        try:
            folder = f"target~{earlier.crashes + 1}" if earlier else "target"
            target = open_target(self.options.target, self.run_dir / folder)
            self._undo.callback(target.stop)
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
                interruption=self._interruption,
                require=self.options.require,
                release=self.options.release,
                alone=self.options.alone,
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
        error = earlier.ended if earlier else ""
        interrupted = interrupted or bool(earlier and earlier.interrupted)
        results = (self._session.results if self._session else []) or list(earlier.results if earlier else ())
        if self._session is not None and self._problem is None and not interrupted:
            self._promised(self._session, self._session.unkept_promises())
        if self._problem is not None:
            error = f"{self._problem.said}{self._unrun(len(results))}"
            tail = self._problem.last_lines if isinstance(self._problem, TargetNotReady) else ()
        try:
            self._undo.close()
        except Exception as trouble:  # noqa: BLE001 - the verdicts stand, whatever the clearing away meets
            error = error or f"clearing away failed: {type(trouble).__name__}: {trouble}"
        if self._problem is not None and not results and not interrupted:
            self.status = self._problem.exit_status
        else:
            self.status = exit_status(results, interrupted=interrupted, ready=self._problem is None)
        if earlier and self.status in (OK, NOTHING_JUDGED):  # whatever was told of the case: the library crashed
            self.status = INCONCLUSIVE
        spent_s = time.monotonic() - self._began + (earlier.spent_s if earlier else 0.0)
        self.emit(RunFinished(self.status, interrupted, error, spent_s, tail))

    def awaits(self, case_id: str) -> bool:
        """Whether a case has no result yet."""
        return self.options.earlier is None or case_id not in self.options.earlier.judged

    @property
    def over(self) -> bool:
        """Whether the target could not be brought back: no case after this can be judged."""
        return self._problem is not None

    def _unrun(self, done: int) -> str:
        """A sentence on the cases that the loss of the target left without a verdict."""
        lost = len(self.cases) - done
        if not done or lost <= 0:
            return ""
        return f"\nIt could not be brought back: {lost} of {len(self.cases)} cases were not run."

    def run(self, case: Case) -> CaseResult:
        """Runs one case to its verdict."""
        assert self._session is not None
        index = self.cases.index(case) + 1
        try:
            result = self._session.run(case, index, len(self.cases), self.estimate(case))
        except TargetProblem as problem:
            self._problem = problem
            raise
        except Exception as error:  # noqa: BLE001 - ours, and said: no case is lost without a word
            result = self._session.lost(case, error)
        self._interruption.check()  # it may have come where Python lets nothing out: in a finalizer
        if self.options.keep == "failed" and result.verdict is Verdict.PASS:
            for attempt in result.attempts:
                shutil.rmtree(self.run_dir / attempt.history, ignore_errors=True)
        return result

    def _announce(self, session: TargetSession) -> None:
        cases = tuple(
            CaseInfo(
                case.id,
                case.statement,
                case.level,
                case.guarantees,
                case.needs,
                self.estimate(case),
                case.kind == "trial",
            )
            for case in self.cases
        )
        self.emit(
            RunStarted(
                folder=str(self.run_dir),
                target=self.options.target,
                target_version=session.version,
                profile=self.options.profile,
                seed=self.seed,
                started_at=datetime.now(UTC).isoformat(timespec="seconds"),
                estimate_s=sum(info.estimate_s for info in cases),
                limit_s=run_limit_s([case for case in self.cases if self.estimate(case)], self.options.profile),
                cases=cases,
                left_out=tuple(LeftOut(case.id, why) for case, why in self.left),
                told_again=self.options.earlier.told if self.options.earlier else 0,
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


def _default_folder(target: str, seed: int) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    slug = "".join(letter if letter.isalnum() or letter in ".-" else "-" for letter in target)[:40]
    return Path("runs").absolute() / f"{stamp}-{slug}-{seed}"

"""Runs cases that do not disturb each other side by side, in threads; whoever came to no verdict goes on alone.

The verdicts are those of one after the other: what depends on time is tried again alone, as are all that were under way
when the target died or fell sick
(suites/running/crowd.py). What cannot be laid to one case is said of them all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.probe.target_condition import THIS_CASE
from brokertrial.suites.result import FATAL, CaseResult
from brokertrial.suites.running.case_run import CaseRun
from brokertrial.suites.running.claims import REQUIRES, broken
from brokertrial.suites.running.crowd import SEVERAL, Crowd, CrowdMember
from brokertrial.suites.running.fresh_start import NOT_ITS_OWN
from brokertrial.suites.running.requirements import statement
from brokertrial.suites.running.session import TargetSession
from brokertrial.suites.targets import TargetProblem

MOST = 3
"""Times that a target may die or fall sick under a crowd; after that its cases run one by one."""
JOIN_S = 0.2
ENDS_WITHIN_S = 10.0
"""For the threads of an interrupted run: as daemons they end with the process."""
SET = f"{REQUIRES}data"
"""The result that says what several cases together did to the target."""


class SideBySide:
    """`run_alone` takes a case to its verdict; `settle` gets every result that was come to here."""

    def __init__(
        self,
        session: TargetSession,
        jobs: int,
        run_alone: Callable[[CaseRun], CaseResult],
        settle: Callable[[CaseResult], CaseResult],
        over: Callable[[], bool],
    ) -> None:
        self._session = session
        self._jobs = jobs
        self._run_alone = run_alone
        self._settle = settle
        self._over = over
        self._lock = threading.Lock()
        self._problem: BaseException | None = None
        self._again: list[CaseRun] = []
        self._waiting: list[CaseRun] = []
        self._trials: list[CaseRun] = []
        self._tried: set[str] = set()
        """The kinds of clients of which a trial is over."""
        self._stop = False

    def run(self, cases: Sequence[CaseRun]) -> None:
        """All of these cases to their verdicts. Raises what ended the run."""
        for case_run in cases:
            assert case_run.case.content_hash, "made here once: see PROOFS"
        self._waiting = list(cases)
        sick = 0
        while self._waiting and not self._over() and sick < MOST:
            crowd = self._together()
            again, self._again = self._again, []
            if crowd.closed:
                sick += 1
                self._bring_back(crowd, again)
            for case_run in sorted(again, key=lambda one: one.estimate_s):
                if not self._over():
                    self._again_alone(case_run, must_be=crowd.closed)
            if crowd.closed:
                self._say(crowd, again)
        for case_run in self._waiting:
            if not self._over():
                self._run_alone(case_run)

    def _again_alone(self, case_run: CaseRun, *, must_be: bool) -> None:
        """To its verdict, where that is worth its time; who may have killed the target is always tried."""
        if must_be or self._session.repeats.left_s > 0:
            self._run_alone(case_run)
        else:
            self._settle(case_run.given_up())

    def _together(self) -> Crowd:
        """Until no case is left, or the target is not well."""
        crowd = Crowd(self._session.liveness)
        threads = [
            threading.Thread(target=self._work, args=(crowd,), name=f"cases {number}", daemon=True)
            for number in range(min(self._jobs, len(self._waiting)))
        ]
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                for thread in threads:
                    thread.join(JOIN_S)
        except BaseException:
            self._stop = True
            deadline = time.monotonic() + ENDS_WITHIN_S
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))
            raise
        if self._problem is not None:
            raise self._problem
        return crowd

    def _work(self, crowd: Crowd) -> None:
        """One thread: case after case, each for its first attempt."""
        while (case_run := self._next(crowd)) is not None:
            try:
                case_run.try_once(CrowdMember(crowd, case_run.case))
                if case_run.is_over:
                    self._settle(case_run.finish())
                else:
                    self._again.append(case_run)
            except Exception as error:  # noqa: BLE001 - ours, and said: no case is lost without a word
                if isinstance(error, TargetProblem):
                    self._ends(error)
                else:
                    self._settle(self._session.lost(case_run.case, error))
            except BaseException as error:  # noqa: BLE001 - raised again where the run is
                self._ends(error)
            finally:
                crowd.leave(case_run.case.id)
                with self._lock:
                    if case_run in self._trials:
                        self._trials.remove(case_run)
                        self._tried.add(_clients(case_run))

    def _ends(self, error: BaseException) -> None:
        self._problem = self._problem or error
        self._stop = True

    def _next(self, crowd: Crowd) -> CaseRun | None:
        """The next case for a thread; few trials at a time, for each has a dozen clients."""
        with self._lock:
            if self._stop or crowd.closed or self._over():
                return None
            chosen = self._next_trial() or next((one for one in self._waiting if one.case.kind == "wire"), None)
            if chosen is not None:
                self._waiting.remove(chosen)
            return chosen

    def _next_trial(self) -> CaseRun | None:
        """The longest; but what clients of one kind cannot do at all is found by the first trial that has such."""
        if len(self._trials) >= max(1, self._jobs // 2):
            return None
        under_way = {_clients(one) for one in self._trials}
        first: dict[str, CaseRun] = {}
        for one in self._waiting:
            if one.case.kind == "trial" and (_clients(one) in self._tried or _clients(one) not in under_way):
                first.setdefault(one.case.id if _clients(one) in self._tried else _clients(one), one)
        chosen = max(first.values(), key=lambda one: one.estimate_s, default=None)
        if chosen is not None:
            self._trials.append(chosen)
        return chosen

    def _bring_back(self, crowd: Crowd, again: Sequence[CaseRun]) -> None:
        """The target serves again before the suspects are tried; where it cannot, that is said of them all."""
        try:
            self._session.bring_back()
            self._session.restore(failed_in=SET)
            if (problem := self._session.fresh_start.taken()) is not None:
                self._tell(crowd, "died", f"{NOT_ITS_OWN}: {problem.sentence}")
        except BaseException:
            self._say(crowd, [])
            for case_run in again:
                self._settle(case_run.finish())
            raise

    def _say(self, crowd: Crowd, again: Sequence[CaseRun]) -> None:
        """A failure of the set, unless one of them has done it again alone, or it was one alone from the start."""
        suspects = crowd.suspects
        if crowd.found.kind == "away":
            return
        told = [result for result in self._session.results if result.case in suspects]
        if any(one.verdict is Verdict.FAIL and one.reason is not None and one.reason.kind in FATAL for one in told):
            return
        if any(result.case == SET for result in self._session.results):
            return
        tried = "none of them did it again alone" if again else "it could not be brought back to try each alone"
        self._tell(crowd, crowd.found.kind, tried)

    def _tell(self, crowd: Crowd, kind: str, what: str) -> None:
        sentence = f"{crowd.found.sentence.replace(THIS_CASE, SEVERAL)}, which ran side by side"
        failure = broken(SET, statement("data"), kind, f"{sentence}: {', '.join(crowd.suspects)}; {what}")
        self._settle(self._session.tell(failure))


def _clients(case_run: CaseRun) -> str:
    """The kind of workload of a trial."""
    return type(case_run.case.function().workload).__name__

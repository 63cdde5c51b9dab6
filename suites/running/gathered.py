"""Cases that have their nodes disturbed in the same way wait for each other: one stop, or one crash, serves them all.

Each comes to its moment by itself and waits there; when the last one has come, or has ended, the nodes are disturbed
once, and all go on. Who was not decided in company is tried again alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from brokertrial.suites.case import Case
from brokertrial.suites.probe.target_condition import WELL, Condition
from brokertrial.suites.result import CaseResult, Outcome, Reason
from brokertrial.suites.running.case_run import CaseRun
from brokertrial.suites.running.crowd import CrowdMember, unless_late
from brokertrial.suites.running.session import TargetSession
from brokertrial.suites.situations import Disturb
from brokertrial.suites.targets import TargetProblem

MOST = 16
"""Cases that wait for each other."""
SHORT_S = 2.0
"""Longer ones would keep the others waiting: sessions and transactions of theirs would expire."""
GATHERS_WITHIN_S = 20.0
ACTS_WITHIN_S = 240.0
NOT_GATHERED = f"not every case had come to its moment after {GATHERS_WITHIN_S:.0f} s"


class Gathering:
    """The moment of several cases. Each thread calls `arrive` or `leave`, once."""

    def __init__(self, parties: int) -> None:
        self._missing = parties
        self._outcome = ""
        self._changed = threading.Condition()
        self._acting = False

    def arrive(self, act: Callable[[], str]) -> str:
        """Waits for the others; one of them acts, and all get what came of it."""
        with self._changed:
            self._missing -= 1
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._missing <= 0 or bool(self._outcome), GATHERS_WITHIN_S):
                self._outcome = self._outcome or NOT_GATHERED
            if self._acting or self._outcome:
                self._changed.wait_for(lambda: bool(self._outcome), ACTS_WITHIN_S)
                return self._outcome or NOT_GATHERED
            self._acting = True
        outcome = act()
        with self._changed:
            self._outcome = outcome
            self._changed.notify_all()
        return outcome

    def leave(self) -> None:
        """A case ended without coming to its moment."""
        with self._changed:
            self._missing -= 1
            self._changed.notify_all()


class GatheredMember(CrowdMember):
    """What one of these cases sees of the target; how it fares is looked at once they are over."""

    def __init__(self, session: TargetSession, gathering: Gathering) -> None:
        self._session = session
        self._gathering = gathering
        self.has_arrived = False

    def lacking(self, case: Case) -> Reason | None:
        return None

    def begin(self, case: Case, went_away: bool = False) -> None:
        """Nothing to watch: nodes are about to be stopped."""

    def disturbing(self, act: Disturb) -> Disturb:
        def gathered(what: str) -> str:
            self.has_arrived = True
            return self._gathering.arrive(lambda: act(what))

        return gathered

    def look(self, stuck: bool = False) -> Condition:
        return WELL

    def after(self, outcome: Outcome) -> Outcome:
        return unless_late(outcome)


class Gathered:
    """`run_alone` takes a case to its verdict; `settle` gets every result that was come to here."""

    def __init__(
        self,
        session: TargetSession,
        run_alone: Callable[[CaseRun], CaseResult],
        settle: Callable[[CaseResult], CaseResult],
        over: Callable[[], bool],
    ) -> None:
        self._session = session
        self._run_alone = run_alone
        self._settle = settle
        self._over = over

    def run(self, cases: Sequence[CaseRun]) -> None:
        """All of these cases to their verdicts. Raises what ended the run."""
        for case_run in cases:
            assert case_run.case.content_hash, "made here once: see PROOFS"
        short = [one for one in cases if one.estimate_s <= SHORT_S]
        for batch in _batches(short):
            if not self._over():
                self._together(batch)
        for case_run in cases:
            if case_run not in short and not self._over():
                self._run_alone(case_run)

    def _together(self, batch: Sequence[CaseRun]) -> None:
        gathering = Gathering(len(batch))
        problems: list[BaseException] = []
        threads = [
            threading.Thread(target=self._work, args=(case_run, gathering, problems), daemon=True) for case_run in batch
        ]
        liveness, started = self._session.liveness, time.monotonic()
        liveness.begin(batch[0].case)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, started + GATHERS_WITHIN_S + 2 * ACTS_WITHIN_S - time.monotonic()))
        if problems:
            raise problems[0]
        self._session.bring_back()
        is_well = liveness.look_after_trial(stuck=False) == WELL
        self._session.restore(batch[0].case)
        is_well = is_well and self._session.fresh_start.taken() is None
        for case_run in batch:
            if is_well and case_run.is_over:
                self._settle(case_run.finish())
            elif not self._over():
                self._run_alone(case_run if is_well else case_run.anew())

    def _work(self, case_run: CaseRun, gathering: Gathering, problems: list[BaseException]) -> None:
        member = GatheredMember(self._session, gathering)
        try:
            case_run.try_once(member)
        except TargetProblem as error:
            problems.append(error)
        except Exception as error:  # noqa: BLE001 - ours, and said: no case is lost without a word
            self._settle(self._session.lost(case_run.case, error))
        except BaseException as error:  # noqa: BLE001 - raised again where the run is
            problems.append(error)
        finally:
            if not member.has_arrived:
                gathering.leave()


def _batches(cases: Iterable[CaseRun]) -> Iterator[Sequence[CaseRun]]:
    by_act: dict[str, list[CaseRun]] = {}
    for one in cases:
        draw = one.case.situation
        by_act.setdefault(draw.situation if draw else "", []).append(one)
    for gathered in by_act.values():
        for first in range(0, len(gathered), MOST):
            yield gathered[first : first + MOST]

"""One case must not turn the others red: after each, the target is looked at, and started anew where it is not well.

What a case did to it is that case's failure, once. Where it cannot be started anew, the cases that follow are not
applicable until it takes a record again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from brokertrial.histories.clock import now_ns
from brokertrial.suites.case import Case
from brokertrial.suites.exit_status import NEEDS_A_RECORD
from brokertrial.suites.probe.target_condition import DIED, THIS_CASE, WELL, Condition, gone, unsettled
from brokertrial.suites.result import Outcome, Reason
from brokertrial.suites.running.death_watch import DeathWatch, ServedPartition
from brokertrial.suites.running.fresh_start import FreshStart
from brokertrial.suites.running.health import CANNOT_WRITE, Health
from brokertrial.suites.situations import Disturb
from brokertrial.suites.targets import Target, readiness
from brokertrial.wire.addresses import reached

LOG = logging.getLogger("brokertrial.run")
HURTS = frozenset({"kill", "terminate", "pause", "restart"})
"""What a schedule needs that ends a node, or freezes it."""
SICK_FOR_S = 300.0
"""A target that one case after the other leaves sick, for so long, is not started anew any more."""
BACK_WITHIN_S = 60.0
"""For a supervisor to bring a broker back: Kubernetes waits for 10 s, then for 20 s, before it tries again."""


class Liveness:
    """`bootstrap` are the target's own addresses; `blind` where answers are edited on purpose, and prove nothing."""

    def __init__(
        self,
        target: Target,
        health: Health,
        bootstrap: Callable[[], Sequence[ServedPartition]],
        *,
        blind: bool = False,
        fresh_start: FreshStart | None = None,
    ) -> None:
        self.blind = blind
        self._fresh_start = fresh_start or FreshStart(target)
        self._target = target
        self._health = health
        self._bootstrap = bootstrap
        self._places: list[ServedPartition] = []
        self._watch = DeathWatch(target.served_by)
        self._hurt = self._looked = self._went_away = False
        self._condition = WELL
        self._heard_ns = now_ns()
        self._broken = ""
        """What of this suite's own has ended before the nodes."""
        self._health_problem = ""
        """What its own health command said last."""
        self._began_ns = now_ns()
        self._sick_s = 0.0
        """What the last cases took, each of which left it sick."""
        self._lost_in = ""
        """The case since which it takes no record, where it could not be started anew."""

    def open(self) -> None:
        """What is wrong from the beginning is no case's doing."""
        self._health.open()
        self._health_problem = self._target.health_problem()

    def close(self) -> None:
        """Stops watching the nodes."""
        self._watch.stop()

    def lacking(self, case: Case) -> Reason | None:
        """Why a case cannot be judged on a target that takes no record; it is asked each time whether it does again."""
        if self._lost_in:
            self._health.measure()
            self._lost_in = "" if self._health.is_well else self._lost_in
        failed_in = self._lost_in
        if self._health.unwritable is not None and case.kind == "trial":  # it is nothing but ordinary clients
            failed_in = CANNOT_WRITE
        return Reason("needs", f"{NEEDS_A_RECORD}, which failed in {failed_in}") if failed_in else None

    def begin(self, case: Case, went_away: bool = False) -> None:
        """An attempt begins. Of a trial it is not known yet whether it hurts nodes: see `expect_faults`.

        `went_away`: in an earlier attempt at this case the target, which somebody else runs, was gone for a while.
        """
        self._went_away = went_away
        self._looked, self._condition, self._hurt, self._began_ns = False, WELL, case.hurts, now_ns()
        self._health.measure_again()
        if case.kind == "trial":
            self._watch.stop()
        else:
            self._watch_nodes()

    def begin_together(self) -> None:
        """Several attempts begin that hurt no node: how the target fares is looked at for them all."""
        self._looked = self._hurt = self._went_away = False
        self._condition, self._began_ns = WELL, now_ns()
        self._health.measure_again()
        self._watch_nodes()

    def expect_faults(self, needs: frozenset[str]) -> None:
        """What the faults of a trial need: where that hurts no node, a node that dies was killed by a request."""
        if not needs & HURTS:
            self._hurt = False
            self._watch_nodes()

    def disturbing(self, act: Disturb) -> Disturb:
        """How a case disturbs all nodes: by itself."""
        return act

    def look(self, stuck: bool = False) -> Condition:
        """How the target fares, now that a case which hurt no node has asked its last."""
        self._looked = True
        if self._unreached():
            return WELL
        self._condition = self._death() or self._sickness(stuck)
        if not self._condition.is_gone and (death := self._death()) is not None:
            self._condition = death
        return self._condition

    def look_after_trial(self, stuck: bool) -> Condition:
        """The same after a trial: where it hurt nodes, every one of them has been brought back."""
        if self._unreached():
            pass
        elif self.blind:
            self._health.measure()
        elif self._hurt:
            self._condition = self._sickness(stuck)
        else:
            self.look(stuck)
        self._looked = True
        return self._condition

    def after(self, outcome: Outcome) -> Outcome:
        """The outcome of an attempt in view of how the target fares, unless that was looked at already."""
        if not self._looked:
            outcome = self.look_after_trial(outcome.is_stuck).upon(outcome)
        return unsettled(outcome, f"nothing reached the target: {self._broken}") if self._unreached() else outcome

    def restart_if_sick(self, failed_in: str, unserved: str = "") -> tuple[str, ...]:
        """Starts a target anew that is sick, whose log raised the alarm, or where coordinators do not serve what is
        `unserved`; a warning says so."""
        now, since = now_ns(), self._heard_ns
        self._heard_ns = now
        alarms = self._target.alarms(since, now)
        if self._condition.is_gone or self._unreached():
            self._recover()
            return ()
        sick = self._condition.kind == "sick"
        self._sick_s = self._sick_s + (now - self._began_ns) / 1e9 if sick else 0.0
        if not (sick or alarms or unserved):
            return ()
        alarm = f"its log raised the alarm: {alarms[0].text}" if alarms else ""
        why = self._condition.sentence if sick else alarm or f"its coordinators do not serve: {unserved}"
        LOG.warning("target is sick", extra={"why": why, "failed_in": failed_in})
        if self._target.restartable and self._sick_s < SICK_FOR_S:
            self._watch.stop()
            self._fresh_start.restart()
            self.renew()
            if self._health.is_well:
                return (f"the target was restarted: {why}",)
        self._lost_in = failed_in if sick and not self._health.is_well else ""
        return ()

    # what there is to see

    def _unreached(self) -> bool:
        """Whether what this suite has put before the nodes broke: it is then not asked how they fare."""
        self._broken = self._broken or self._target.unreached()
        return bool(self._broken)

    def _death(self) -> Condition | None:
        died_ns = self._watch.death_ns() or self._restarted_ns()
        if not died_ns:
            return None if self._target.alive() else self._gone(DIED)
        brought_back = ", and was brought back by its supervisor" if self._comes_back() else ""
        return self._gone(f"{DIED}{brought_back}", died_ns)

    def _gone(self, sentence: str, since_ns: int = 0) -> Condition:
        return gone(self._target.capabilities, self._went_away, sentence, since_ns)

    def _restarted_ns(self) -> int:
        """When a broker whose processes nobody can see ended its connection, if it leads in a new epoch since then.

        Of several nodes one may lead in a new epoch for other reasons.
        """
        cut_ns = self._watch.cut_ns() if len(self._places) == 1 else 0
        return cut_ns if cut_ns and self._health.leads_in_a_new_epoch() else 0

    def _comes_back(self) -> bool:
        """Whether somebody else starts it again; where that is our part nobody is waited for."""
        deadline = time.monotonic() + BACK_WITHIN_S
        pause = threading.Event()
        while not self._serves():
            if time.monotonic() >= deadline or (self._target.restartable and not self._target.alive()):
                return False
            pause.wait(0.1)
        return True

    def _serves(self) -> bool:
        try:
            return all(readiness.ask(place).brokers for place in self._places)
        except readiness.NotYet:
            return False

    def _sickness(self, stuck: bool = False) -> Condition:
        if (fault := self._health.fault(lambda: not self._target.alive(), stuck)) is not None:
            return Condition("sick", f"since {THIS_CASE} the target takes no record: {fault.sentence}")
        before, self._health_problem = self._health_problem, self._target.health_problem()
        if self._health_problem and not before:
            return Condition("sick", f"since {THIS_CASE} its own health command fails: {self._health_problem}")
        return WELL

    # what is done about it

    def _watch_nodes(self) -> None:
        if self.blind:
            return
        if not self._places:
            self._places = list(self._bootstrap())
            with suppress(readiness.NotYet):
                told = readiness.ask(self._places[0]).brokers.values()
                self._places = [reached(*place, self._target.reach) for place in told] or self._places
        self._watch.watch(self._places)

    def _recover(self) -> None:
        """Its own supervisor, if it has one, was waited for long enough."""
        if self._broken or not (self._target.alive() and self._serves()):
            self._fresh_start.recover()
        self._broken = ""
        self.renew()

    def renew(self) -> None:
        """The target was started anew."""
        self._places = []
        self._health.restarted()
        self._health_problem = self._target.health_problem()
        self._heard_ns = now_ns()

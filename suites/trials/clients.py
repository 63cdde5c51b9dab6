"""The clients of one trial as the conductor sees them: started, waited for, asked whether they move, stopped."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from brokertrial.faults.clock import OperationClock
from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import PartitionId
from brokertrial.suites.events import TrialProgress
from brokertrial.suites.probe import naming
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.trials.context import TrialContext
from brokertrial.suites.workloads.asker import watch
from brokertrial.suites.workloads.context import Lagging, RowWriter, WorkloadContext
from brokertrial.suites.workloads.fresh import Fresh, NoFreshProgress
from brokertrial.suites.workloads.workload import Actor, Workload

HERE = Path(__file__).parent.parent
TELL_S = 0.25
LOOK_S = 0.05
WATCHER = "watcher"
STOP_S = 120.0
"""For all clients together, from the word to stop: a call of a client library that meets no answer ends by then."""
QUIET_S = 30.0
"""The same while no client ends and nothing is acknowledged."""
FRESH_ANSWER_S = 5.0
"""For one answer to a fresh client, besides what its request may wait for: it asks again as long as there is time."""
HURRY_S = 5.0
"""The same when the verdict is certain already."""
GIVE_UP_S = 3.0
"""The same when the run is interrupted: they are threads that end with the process."""


class Clients:
    """All threads of a workload on one stage."""

    def __init__(
        self, workload: Workload, trial_context: TrialContext, links: FaultProxy, recorder: RowWriter | None = None
    ) -> None:
        self._workload = workload
        self._ground = trial_context
        self._told_ns = 0
        self._counter = 0
        self.context = WorkloadContext(
            trial_context.case_context,
            links.bootstrap,
            recorder or trial_context.recorder,
            trial_context.topics,
            [trial_context.names[word] for word in workload.groups],
            self._new_name,
            links.saw_client_statistics,
        )
        self._actors = workload.clients(self.context, trial_context.names)
        if not trial_context.case_context.leaderless:
            self._actors.append(Actor(WATCHER, self.context, partial(watch, self.context, WATCHER, trial_context.wire)))
        self._never = threading.Event()
        self._stop_s = STOP_S
        self._given_up = False
        self._lags: list[Lagging] = []

    @property
    def clock(self) -> OperationClock:
        return self.context.clock

    @property
    def acked(self) -> int:
        return self.context.acked

    @property
    def places(self) -> list[PartitionId]:
        return self.context.places

    def start(self) -> None:
        for actor in self._actors:
            actor.start()

    def until(
        self, condition: Callable[[], bool], within_s: float, active: Callable[[], tuple[str, ...]] = tuple
    ) -> bool:
        """Waits for a condition, telling the progress; False when the time is over, or a client has failed, first."""
        deadline_ns = now_ns() + int(within_s * 1e9)
        while not condition():
            left_s = (deadline_ns - now_ns()) / 1e9
            if left_s <= 0 or self.context.problems:
                return False
            self._tell(active(), left_s)
            self._never.wait(min(LOOK_S, left_s))
        return True

    def stuck(self, since_ns: int) -> list[str]:
        """What must move and has not since then."""
        return self.context.stuck(since_ns, self._workload.must_move(self.context))

    def readers_behind(self, within_s: float) -> list[str]:
        """The readers that do not reach, within the time, what is acknowledged now."""
        goals = self._workload.readers(self.context)
        self.until(lambda: not self.context.behind(goals), within_s)
        self._lags = self.context.behind(goals)
        return [str(lag) for lag in self._lags]

    def fresh_start(self, within_s: float, unless: Callable[[], bool] = lambda: False) -> str:
        """Does by fresh clients around the proxy what was stuck; what they met, empty when all of it worked, or when
        there is no need any more."""
        deadline_ns = now_ns() + int(within_s * 1e9)
        while True:
            try:
                fresh = Fresh(self._fresh_wire, self.context)
                self._workload.fresh(fresh, self.context, self._ground.names, self._lags)
                return ""
            except NoFreshProgress as problem:
                if unless():
                    return ""
                if now_ns() > deadline_ns:
                    return str(problem)
            self._never.wait(0.5)

    def _fresh_wire(self, client: str) -> Wire:
        wire = self._ground.wire(client)
        wire.at_most_s = self._ground.limit(FRESH_ANSWER_S)
        return wire

    def give_up(self) -> None:
        """The run is interrupted: no client waits for answers any more, and nobody waits long for a client."""
        self.context.trouble("the run was interrupted")
        self._given_up = True
        self._stop_s = GIVE_UP_S

    def hurry(self) -> None:
        """The verdict is certain: no client waits for the answers still due."""
        self.context.hurried.set()
        self._stop_s = HURRY_S

    def end(self, died: Callable[[], bool], quiet_s: float) -> bool:
        """Tells all clients to end, and waits for as long as they do, or anything is acknowledged; whether all ended.

        Where the target is found to have died, nobody waits for its answers; when the run is interrupted, nobody asks.
        """
        self.context.stopping.set()
        began_ns, moved_ns, moved = now_ns(), now_ns(), (-1, -1)
        while left := [actor for actor in self._actors if actor.is_alive()]:
            left[0].join(min(LOOK_S, self._stop_s / 4))
            if not (self._given_up or self.context.hurried.is_set()) and died():
                self.hurry()
            if moved != (now := (len(left), self.acked)):
                moved, moved_ns = now, now_ns()
            if now_ns() - moved_ns > min(self._stop_s, quiet_s) * 1e9 or now_ns() - began_ns > self._stop_s * 1e9:
                break
        return not left

    def stop(self, died: Callable[[], bool] = lambda: False) -> list[str]:
        """Ends all clients; those that did not end, as a call of a library may never do, and what they are in."""
        self.end(died, self._ground.limit(QUIET_S))
        left = [actor for actor in self._actors if actor.is_alive()]
        if left:  # what their producers have under way may be in the log
            for writer in self.context.writers:
                writer.abandon()
        limit_s = min(self._stop_s, self._ground.limit(QUIET_S))
        return [f"client {actor.name} did not end within {limit_s:g} s{_what_it_is_in(actor)}" for actor in left]

    @property
    def problems(self) -> list[str]:
        """What went wrong with clients."""
        return self.context.problems

    def _tell(self, active: tuple[str, ...], left_s: float) -> None:
        now = now_ns()
        if now - self._told_ns > TELL_S * 1e9:
            self._told_ns = now
            self._ground.emit(
                TrialProgress(self._ground.case_context.case, self.acked, self.clock.operations(), active, left_s)
            )

    def _new_name(self, what: str) -> str:
        self._counter += 1
        case_context = self._ground.case_context
        return naming.name(
            case_context.prefix,
            case_context.salt,
            case_context.case,
            case_context.attempt,
            what,
            "client",
            self._counter,
        )


def _what_it_is_in(thread: threading.Thread) -> str:
    """The line of this suite that a thread does not come back from; nothing when it has just ended."""
    frame = sys._current_frames().get(thread.ident or 0)
    ours = [line for line in traceback.extract_stack(frame) if HERE in Path(line.filename).parents] if frame else []
    return f", it is in `{ours[-1].line}` ({Path(ours[-1].filename).name}, line {ours[-1].lineno})" if ours else ""

"""Whether a target is well: a record is written and read back, which needs its store; and how long that takes.

Asked after each attempt, on a topic of its own: a target that was slow once does not loosen every limit of a run.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

from msgspec.structs import replace

from brokertrial.suites.probe.failures import BrokerAtFault, NoResponse, NotApplicable, Unclear
from brokertrial.suites.probe.prerequisites import step_of
from brokertrial.suites.probe.produce import batch
from brokertrial.suites.probe.promptness import is_slow, said_of
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.claims import REQUIRES, broken
from brokertrial.suites.running.requirements import statement

CANNOT_WRITE = f"{REQUIRES}data"
SETTLES_WITHIN_S = 10.0
COSTS = 10
SAMPLES = 3
QUICK_MS = 20.0
"""One acknowledgement as quick as this is measure enough."""
UNKNOWN_MS = 50.0
"""A target that cannot even acknowledge is judged by the cases, with patience."""
READ_WITHIN_S = 5.0
ANSWERS_WITHIN_S = 10.0
"""Besides the time that the request names itself; a target that is slow in everything has its own patience."""
SICK_AFTER_S = 5.0
STUCK_ANSWERS_WITHIN_S = 3.0
"""Where a trial has just found that nobody gets anywhere, and has waited for long."""
REFUSES_FOR_S = 20.0
"""An error code is a word that a client has to take: it is asked again for longer than where nothing is said at all."""


class Health:
    """`probe` makes a probe whose tape nobody keeps; the one in use lives until something goes wrong with it."""

    def __init__(self, probe: Callable[[], Wire]) -> None:
        self.latency_ms = 1.0
        self._probe = probe
        self._wire: Wire | None = None
        self._topic = ""
        self._written = 0
        self._offset = 0
        self._epoch = -1
        self._reads: bool | None = None
        """Whether what is written can be read back; unknown before it was tried."""
        self._said_slow = False
        self._fault: BrokerAtFault | None = None
        self._step = ""
        self._not_before = 0.0
        self._answers_within_s = ANSWERS_WITHIN_S
        self._was_well = False
        self.unwritable: BrokerAtFault | None = None
        """Why not one record could be written when the run began."""

    def open(self) -> None:
        """Measures for the first time; what cannot be written to is asked for a while, for it may be settling."""
        self.measure()
        self._settle(SETTLES_WITHIN_S, lambda: False)
        self.unwritable = self._fault

    def broken(self) -> list[CaseResult]:
        """The failure of a target to which an ordinary client cannot write one record: said once, and at once."""
        if self.unwritable is None:
            return []
        sentence = f"an ordinary client cannot write one record: {self.unwritable.sentence}"
        made = broken(CANNOT_WRITE, statement("data"), "requires", sentence)
        failures = tuple(replace(one, step=self._step) for one in made.failures)
        return [replace(made, evidence=self.unwritable.evidence, failures=failures)]

    def fault(self, gone: Callable[[], bool], stuck: bool = False) -> BrokerAtFault | None:
        """Why the target takes no record any more, or gives none back, though it did; None where it is well.

        It is asked for a while, on new connections and a new topic; a target that is gone altogether is not. `stuck`:
        it was just found that nobody gets anywhere, so that it is asked with less patience.
        """
        if stuck:
            self._answers_within_s = STUCK_ANSWERS_WITHIN_S
            self._let_go()
        try:
            self.measure()
            if self._fault is None or not self._was_well:
                return None
            self._topic, self._answers_within_s = "", min(self._answers_within_s, SICK_AFTER_S)
            silent = stuck or isinstance(self._fault, NoResponse)
            self._settle(SICK_AFTER_S if silent else REFUSES_FOR_S, gone)
            return self._fault
        finally:
            self._answers_within_s = ANSWERS_WITHIN_S

    def measure(self) -> None:
        """Takes the latency anew: the median of a few acknowledgements, or the first if that was quick.

        A target that failed to give one is asked again only after ten times as long as that took: waiting for it
        before every case would cost more than the cases.
        """
        began = time.monotonic()
        if began < self._not_before:
            return
        self._fault = None
        try:
            taken = [self._acknowledged_ms()]
            while taken[0] > QUICK_MS and len(taken) < SAMPLES:
                taken.append(self._acknowledged_ms())
            self._read_back()
        except (BrokerAtFault, NotApplicable, Unclear) as problem:
            self._fault = problem if isinstance(problem, BrokerAtFault) else None
            ours = self._wire.case_context.prefix if self._wire is not None else ""
            self._step = step_of(problem, ours) if isinstance(problem, BrokerAtFault) else ""
            self._let_go()
            self.latency_ms = UNKNOWN_MS
            self._not_before = time.monotonic() + COSTS * (time.monotonic() - began)
            return
        self.latency_ms = max(statistics.median(taken), 0.1)
        self._was_well = True
        self._epoch = self._told_epoch()

    def leads_in_a_new_epoch(self) -> bool:
        """Whether the leader of the topic that is written to counts a later epoch than when it was written to last."""
        return 0 <= self._epoch < self._told_epoch()

    def _told_epoch(self) -> int:
        """-1 where none is told."""
        if self._wire is None:
            return -1
        try:
            self._wire.refresh_metadata(self._topic)
            return self._wire.leader_epoch(self._topic, 0)
        except (BrokerAtFault, NotApplicable, Unclear):
            return -1

    def measure_again(self) -> None:
        """Takes the latency anew where it was not quick: a target that was slow then is not let off now."""
        if self.latency_ms > QUICK_MS:
            self.measure()

    def slowness(self) -> tuple[str, ...]:
        """That the target is too slow for demands on time: said once."""
        if self._said_slow or not is_slow(self.latency_ms):
            return ()
        self._said_slow = True
        return (said_of(self.latency_ms),)

    def restarted(self) -> None:
        """The target was started anew: it is asked on new connections, with a new topic, as patiently as at first."""
        began = time.monotonic()
        self._let_go()
        self._not_before, self._topic = 0.0, ""
        self.measure()
        self._settle(SETTLES_WITHIN_S - (time.monotonic() - began), lambda: False)

    @property
    def is_well(self) -> bool:
        """Whether the last record was written, and read back."""
        return self._fault is None

    def _settle(self, within_s: float, gone: Callable[[], bool]) -> None:
        """Asks again until there is no fault."""
        deadline = time.monotonic() + within_s
        pause = threading.Event()
        while self._fault is not None and time.monotonic() < deadline and not gone():
            pause.wait(0.2)
            self._not_before = 0.0
            self.measure()

    def _acknowledged_ms(self) -> float:
        if self._wire is None:
            self._wire = self._probe()
        wire, within_s = self._wire, self._answers_within_s
        if not is_slow(self.latency_ms):
            wire.at_most_s = wire.until_at_most_s = within_s
        self._topic = self._topic or wire.new_topic()
        self._written += 1
        record = batch(str(self._written), timestamp=wire.now_ms())
        answer = wire.produce(self._topic, record, timeout_ms=int(within_s * 1000)).must_succeed()
        self._offset = answer.offset
        return answer.took_ms

    def _read_back(self) -> None:
        """Where reading was refused, or is not offered, from the beginning, what is written stands for the store."""
        wire = self._wire
        if wire is None or self._reads is False:
            return
        try:
            self._reads = bool(wire.versions("Fetch")) and self._holds_what_was_written(wire)
        except (BrokerAtFault, NotApplicable, Unclear):
            if self._reads:
                raise
            self._reads = False
            self._let_go()

    def _holds_what_was_written(self, wire: Wire) -> bool:
        value = str(self._written).encode()
        return wire.until(
            lambda: value in wire.fetch(self._topic, offset=self._offset).values,
            within=READ_WITHIN_S,
            what="a record that was acknowledged is read back",
        )

    def _let_go(self) -> None:
        if self._wire is not None:
            self._wire.drop_lines()
        self._wire = None

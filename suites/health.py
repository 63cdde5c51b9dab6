"""How a target fares between two cases: how long an acknowledgement takes.

Measured before each attempt, on a topic of its own: a target that was slow once does not loosen every limit of a run.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

from msgspec.structs import replace

from suites.case import Case
from suites.floor import statement
from suites.prerequisites import step_of
from suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from suites.probe.produce import batch
from suites.probe.promptness import is_slow, said_of
from suites.probe.wire import Wire
from suites.promises import REQUIRES, broken
from suites.result import CaseResult, Reason

CANNOT_WRITE = f"{REQUIRES}data"
SETTLES_WITHIN_S = 10.0
COSTS = 10
SAMPLES = 3
QUICK_MS = 20.0
"""One acknowledgement as quick as this is measure enough."""
UNKNOWN_MS = 50.0
"""A target that cannot even acknowledge is judged by the cases, with patience."""


class Health:
    """`probe` makes a probe whose tape nobody keeps; the one in use lives until something goes wrong with it."""

    def __init__(self, probe: Callable[[], Wire]) -> None:
        self.latency_ms = 1.0
        self._probe = probe
        self._wire: Wire | None = None
        self._topic = ""
        self._said_slow = False
        self._fault: BrokerAtFault | None = None
        self._step = ""
        self._not_before = 0.0
        self.unwritable: BrokerAtFault | None = None
        """Why not one record could be written when the run began."""

    def open(self) -> None:
        """Measures for the first time; what cannot be written to is asked for a while, for it may be settling."""
        deadline = time.monotonic() + SETTLES_WITHIN_S
        pause = threading.Event()
        self.measure()
        while self._fault is not None and time.monotonic() < deadline:
            pause.wait(0.2)
            self._not_before = 0.0
            self.measure()
        self.unwritable = self._fault

    def broken(self) -> list[CaseResult]:
        """The failure of a target to which an ordinary client cannot write one record: said once, and at once."""
        if self.unwritable is None:
            return []
        sentence = f"an ordinary client cannot write one record: {self.unwritable.sentence}"
        made = broken(CANNOT_WRITE, statement("data"), "requires", sentence)
        failures = tuple(replace(one, step=self._step) for one in made.failures)
        return [replace(made, evidence=self.unwritable.evidence, failures=failures)]

    def lacking(self, case: Case) -> Reason | None:
        """A trial is nothing but ordinary clients: where not one record can be written it cannot be judged."""
        if self.unwritable is None or case.kind != "trial":
            return None
        return Reason("needs", f"needs a target that takes a record, which failed in {CANNOT_WRITE}")

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
        except (BrokerAtFault, NotApplicable, Unclear) as problem:
            self._fault = problem if isinstance(problem, BrokerAtFault) else None
            ours = self._wire.scene.prefix if self._wire is not None else ""
            self._step = step_of(problem, ours) if isinstance(problem, BrokerAtFault) else ""
            self._let_go()
            self.latency_ms = UNKNOWN_MS
            self._not_before = time.monotonic() + COSTS * (time.monotonic() - began)
            return
        self.latency_ms = max(statistics.median(taken), 0.1)

    def slowness(self) -> tuple[str, ...]:
        """That the target is too slow for demands on time: said once."""
        if self._said_slow or not is_slow(self.latency_ms):
            return ()
        self._said_slow = True
        return (said_of(self.latency_ms),)

    def _acknowledged_ms(self) -> float:
        if self._wire is None:
            self._wire = self._probe()
            self._topic = self._topic or self._wire.new_topic()
        wire = self._wire
        return wire.produce(self._topic, batch("warm", timestamp=wire.now_ms())).must_succeed().took_ms

    def _let_go(self) -> None:
        if self._wire is not None:
            self._wire.drop_lines()
        self._wire = None

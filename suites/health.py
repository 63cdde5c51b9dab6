"""How a target fares between two cases: how long an acknowledgement takes.

Measured before each attempt, on a topic of its own: a target that was slow once does not loosen every limit of a run.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from suites.probe.produce import batch
from suites.probe.promptness import is_slow, said_of
from suites.probe.wire import Wire

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

    def measure(self) -> None:
        """Takes the latency anew: the median of a few acknowledgements, or the first if that was quick."""
        try:
            taken = [self._acknowledged_ms()]
            while taken[0] > QUICK_MS and len(taken) < SAMPLES:
                taken.append(self._acknowledged_ms())
        except (BrokerAtFault, NotApplicable, Unclear):
            self._let_go()
            self.latency_ms = UNKNOWN_MS
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

"""What a node does again and again beside serving: each chore at its own pace, as long as the node runs."""

from __future__ import annotations

import logging
from collections.abc import Callable

from brokertrial.reference_impl.clock import Clock, Timer

log = logging.getLogger("chores")


class Chores:
    """Chores by a clock; one that fails for want of disk is tried again at its next time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timers: list[Timer] = []

    def every(self, interval_s: float, action: Callable[[], None]) -> None:
        """Does this every so many seconds, the first time after as many."""
        slot, failing = len(self._timers), False

        def run() -> None:
            nonlocal failing
            try:
                action()
                failing = False
            except OSError as error:  # a full disk: the next time may be a better one
                if not failing:
                    log.warning("what is done every %g s fails: %s", interval_s, error)
                failing = True
            self._timers[slot] = self._clock.call_later(interval_s, run)

        self._timers.append(self._clock.call_later(interval_s, run))

    def stop(self) -> None:
        """Does nothing more."""
        for timer in self._timers:
            timer.cancel()

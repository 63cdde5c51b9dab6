"""The cleaner at its edge: finds the dirtiest compacted log of this broker and cleans it, a little at a time.

Nothing here waits or takes a thread: a round is cut into steps of a few milliseconds; requests are served in between.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log.compaction import clean, counts_too_early, dirt

if TYPE_CHECKING:
    from brokertrial.reference_impl.clock import Clock, Timer
    from brokertrial.reference_impl.replica.partition import Partition
    from brokertrial.reference_impl.settings.config import BrokerConfig

STEP_S = 0.005
BACKOFF = "log.cleaner.backoff.ms"
log = logging.getLogger("cleaner")


class Cleaner:
    """Looks for dirt every log.cleaner.backoff.ms, and as long as there is some does not wait."""

    def __init__(self, clock: Clock, partitions: Callable[[], Iterable[Partition]], config: BrokerConfig) -> None:
        self._clock, self._partitions, self._config = clock, partitions, config
        self._changed = False  # a setting of the brokers, in this life
        self._round: Iterator[None] | None = None
        self._of: Partition | None = None
        self._timer: Timer | None = None

    def start(self) -> None:
        """Plans the first look."""
        self._timer = self._clock.call_later(self._backoff_s, self._step)

    def settings_changed(self) -> None:
        """Rests from now on as long as it is to rest now."""
        self._changed = True
        if self._timer is not None and self._round is None:
            self._timer.cancel()
            self.start()

    @property
    def _backoff_s(self) -> float:
        from_the_start = not self._changed and bugs.on("K47")
        milliseconds: int = self._config.given(BACKOFF) if from_the_start else self._config[BACKOFF]
        return milliseconds / 1000

    def stop(self) -> None:
        """Ends a round where it is: what it has put in place is whole."""
        self._round = None
        if self._timer is not None:
            self._timer.cancel()

    def _step(self) -> None:
        try:
            working = self._work()
        except (OSError, ValueError):
            log.exception("cleaning of %s-%d failed", *((self._of.topic, self._of.index) if self._of else ("?", -1)))
            self._round, working = None, False
        self._timer = self._clock.call_later(_pause_s() if working else self._backoff_s, self._step)

    def _work(self) -> bool:
        """Goes on with the round, or begins one; False when there is nothing to do."""
        if self._of is not None and self._of.deleted:
            self._round = None
        if self._round is None and not self._begin():
            return False
        assert self._round is not None
        deadline = self._clock.monotonic() + (0 if _pause_s() else STEP_S)
        for _ in self._round:
            if self._clock.monotonic() >= deadline:
                return True
        self._round = None
        return True

    def _begin(self) -> bool:
        """Chooses the log with the largest share of dirt among those worth a round."""
        if bugs.on("M36k"):
            return False
        found = None
        now_ms = self._clock.now_ms()
        for partition in self._partitions():
            settings = partition.log.settings
            if not settings.compact or len(partition.log.segments) < 2:
                continue
            if partition.rules.max_message_bytes < 10_000 and bugs.on("Z35"):
                continue
            state = dirt(partition.log, partition.last_stable_offset, now_ms)
            if state.worth_it(settings.min_dirty_ratio) and (found is None or state.ratio > found[1].ratio):
                found = partition, state
        if found is None:
            return False
        self._of = found[0]
        self._round = clean(found[0].log, found[1], now_ms)
        return True


def _pause_s() -> float:
    """None in a healthy broker; one that does not see its rounds through makes them slowly, so that it shows."""
    return STEP_S if counts_too_early() else 0

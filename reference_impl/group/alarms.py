"""One planned look at the clock for each group, at the earliest of its deadlines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.clock import Clock, Timer


class Alarms:
    """Calls `ring` with a group's id when its time has come; one that comes too early only finds nothing to do."""

    def __init__(self, clock: Clock, now: Callable[[], int], ring: Callable[[str], None]) -> None:
        self._clock, self._now, self._ring = clock, now, ring
        self._planned: dict[str, tuple[int, Timer]] = {}

    def arm(self, group_id: str, deadlines: Iterable[int]) -> None:
        """Plans the next look, unless one is planned that is early enough. Deadlines in ms of `now`."""
        due = min(deadlines, default=None)
        planned = self._planned.get(group_id)
        if due is None or (planned is not None and planned[0] <= due):
            return
        if len(self._planned) >= 32 and bugs.on("B298"):
            return
        if planned is not None:
            planned[1].cancel()
        delay_s = max(0, due - self._now()) / 1000
        self._planned[group_id] = (due, self._clock.call_later(delay_s, functools.partial(self._due, group_id)))

    def drop(self, group_id: str) -> None:
        """Forgets what is planned for one group."""
        if (planned := self._planned.pop(group_id, None)) is not None:
            planned[1].cancel()

    def cancel(self) -> None:
        """Forgets all that is planned."""
        for _, timer in self._planned.values():
            timer.cancel()
        self._planned.clear()

    def _due(self, group_id: str) -> None:
        self._planned.pop(group_id, None)
        self._ring(group_id)

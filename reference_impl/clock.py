"""One clock for the whole broker: nothing else reads the time or sets a timer, so a test can own both."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A thing that will happen, unless it is cancelled first."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for timestamps, monotonic time for deadlines, and timers."""

    def now_ms(self) -> int: ...

    def monotonic(self) -> float: ...

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Timer: ...


class SystemClock:
    """The machine's clock, which a test may push ahead; timers run on the running asyncio loop."""

    def __init__(self) -> None:
        self._ahead_s = 0.0
        self._running: set[_Running] = set()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + round(self._ahead_s * 1000)

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead_s

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Timer:
        return _Running(self._running, self.monotonic() + delay_s, delay_s, action)

    def advance(self, seconds: float) -> None:
        """Pushes time ahead: what was planned within these seconds happens now."""
        self._ahead_s += seconds
        for timer in sorted(self._running, key=lambda one: one.due_s):
            timer.replan(max(0.0, timer.due_s - self.monotonic()))


class _Running:
    """A timer of the loop that can be planned anew."""

    __slots__ = ("_action", "_among", "_handle", "due_s")

    def __init__(self, among: set[_Running], due_s: float, delay_s: float, action: Callable[[], object]) -> None:
        self.due_s, self._among, self._action = due_s, among, action
        self._handle = asyncio.get_running_loop().call_later(delay_s, self._ring)
        among.add(self)

    def _ring(self) -> None:
        self._among.discard(self)
        self._action()

    def cancel(self) -> None:
        self._among.discard(self)
        self._handle.cancel()

    def replan(self, delay_s: float) -> None:
        self._handle.cancel()
        self._handle = asyncio.get_running_loop().call_later(delay_s, self._ring)


class _Planned:
    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Callable[[], object] | None = action

    def cancel(self) -> None:
        self.action = None


class ManualClock:
    """A clock that only moves when it is told to: the state machines' whole life fits in a unit test."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = now_ms
        self._elapsed_s = 0.0
        self._order = itertools.count()
        self._planned: list[tuple[float, int, _Planned]] = []

    def now_ms(self) -> int:
        return self._start_ms + round(self._elapsed_s * 1000)

    def monotonic(self) -> float:
        return self._elapsed_s

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Timer:
        planned = _Planned(action)
        heapq.heappush(self._planned, (self._elapsed_s + delay_s, next(self._order), planned))
        return planned

    def advance(self, seconds: float) -> None:
        """Moves time forward, running due timers in order, each at its own moment."""
        target = self._elapsed_s + seconds
        while self._planned and self._planned[0][0] <= target:
            due, _, planned = heapq.heappop(self._planned)
            self._elapsed_s = max(self._elapsed_s, due)
            if planned.action is not None:
                planned.action()
        self._elapsed_s = target

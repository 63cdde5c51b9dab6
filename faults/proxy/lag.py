"""How late the event loop runs: what the proxy itself adds to every latency."""

import asyncio
from collections import deque
from time import monotonic

EVERY_SECONDS = 0.02
KEPT = 3000


class LagMeter:
    """Sleeps a little, over and over, and notes how much later than asked it woke. Keeps the last minute and the worst
    ever."""

    def __init__(self) -> None:
        self._samples: deque[float] = deque(maxlen=KEPT)
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self.worst_ms = 0.0

    def start(self) -> None:
        """Begins to measure on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._due = monotonic() + EVERY_SECONDS
        self._timer = self._loop.call_later(EVERY_SECONDS, self._sample)

    def stop(self) -> None:
        """Ends it."""
        if self._timer is not None:
            self._timer.cancel()

    def take(self) -> dict[str, float]:
        """The worst since it was last asked for, and the last minute's median and 99th percentile, in ms."""
        ordered = sorted(self._samples)
        worst, self.worst_ms = self.worst_ms, 0.0
        last = len(ordered) - 1
        p50, p99 = (ordered[last // 2], ordered[int(0.99 * last)]) if ordered else (0.0, 0.0)
        return {"worst": worst, "p50": p50, "p99": p99}

    def _sample(self) -> None:
        now = monotonic()
        late = max(0.0, (now - self._due) * 1000)
        self._samples.append(late)
        self.worst_ms = max(self.worst_ms, late)
        self._due = now + EVERY_SECONDS
        self._timer = self._loop.call_later(EVERY_SECONDS, self._sample)

"""The way out to one peer: frames leave in order, none before its time, none while its window holds it back."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any


@dataclass(slots=True)
class QueuedFrame:
    """One frame that may not leave yet; `data` None: close the connection here.

    `gate` is the open window that keeps it until that has ended; `held`: it survives its connection.
    """

    data: bytes | None
    at: float
    gate: Any = None
    held: bool = False
    about: Any = None


class SendQueue:
    """An ordered queue in front of a transport. While it is empty, `push` writes straight through.

    Its bytes are bounded: at `limit` it asks for the source to be paused, and lets it go on at half of that.
    """

    def __init__(
        self, write: Callable[[bytes], None], close: Callable[[], None], pressure: Callable[[bool], None], limit: int
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._write = write
        self._close = close
        self._pressure = pressure
        self._limit = limit
        self._queue: deque[QueuedFrame] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._full = False
        self._gathered: list[bytes] | None = None
        self.together = BatchedWrites(self)
        """What leaves while this lasts is written at once: one system call for many small frames."""
        self.waiting_bytes = 0
        self.ended = False

    def push(
        self, data: bytes | None, delay: float = 0.0, gate: Any = None, held: bool = False, about: Any = None
    ) -> None:
        """Sends bytes (None: closes) after what was pushed before, not before `delay` has passed nor while `gate` has
        not ended."""
        if self.ended:
            return
        if not self._queue and delay <= 0 and (gate is None or gate.ended):
            self._emit(data)
            return
        self._queue.append(QueuedFrame(data, self._loop.time() + delay, gate, held, about))
        self.waiting_bytes += len(data or b"")
        if self.waiting_bytes > self._limit and not self._full:
            self._full = True
            self._pressure(True)
        self._arm()

    def gather(self) -> None:
        """Keeps what leaves until `release`."""
        self._gathered = []

    def release(self) -> None:
        """Writes what was gathered, all at once."""
        gathered, self._gathered = self._gathered, None
        if gathered and not self.ended:
            self._write(gathered[0] if len(gathered) == 1 else b"".join(gathered))

    def kick(self) -> None:
        """Sends what may leave now; called when a window has ended."""
        now = self._loop.time()
        while self._queue and not self.ended:
            head = self._queue[0]
            if head.at > now or (head.gate is not None and not head.gate.ended):
                break
            self._queue.popleft()
            self.waiting_bytes -= len(head.data or b"")
            self._emit(head.data)
        if self._full and self.waiting_bytes <= self._limit // 2:
            self._full = False
            self._pressure(False)
        self._arm()

    def waiting(self) -> Iterator[QueuedFrame]:
        """What has not left yet, in order."""
        return iter(self._queue)

    def keep_timed_only(self) -> None:
        """Forgets what a gate holds back, and all behind it: their connection is gone. What is merely late still
        leaves."""
        self._queue = deque(takewhile(lambda waiting: waiting.gate is None or waiting.gate.ended, self._queue))
        self.waiting_bytes = sum(len(w.data or b"") for w in self._queue)
        self.kick()

    def end(self) -> None:
        """Nothing leaves any more."""
        self.ended = True
        self._queue.clear()
        self.waiting_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __bool__(self) -> bool:
        return bool(self._queue)

    def _emit(self, data: bytes | None) -> None:
        if data is None:
            gathered, self._gathered = self._gathered, None
            for before in gathered or ():
                self._write(before)
            self.end()
            self._close()
        elif self._gathered is not None:
            self._gathered.append(data)
        else:
            self._write(data)

    def _arm(self) -> None:
        if self._timer is not None or not self._queue:
            return
        head = self._queue[0]
        if head.gate is None or head.gate.ended:
            self._timer = self._loop.call_at(head.at, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self.kick()


class BatchedWrites:
    """Gathers what leaves a lane for as long as it lasts; every message passes here, and a generator would cost more
    than the rest of it."""

    __slots__ = ("_lane",)

    def __init__(self, lane: SendQueue) -> None:
        self._lane = lane

    def __enter__(self) -> None:
        self._lane.gather()

    def __exit__(self, *_: object) -> None:
        self._lane.release()

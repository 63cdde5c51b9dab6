"""Ctrl-C and SIGTERM end a run: everything undone, exit status 2, even where a library swallows the exception."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """While entered, either signal raises KeyboardInterrupt and is remembered; `check` raises it again."""

    def __init__(self) -> None:
        self.came = False
        self._before: dict[signal.Signals, Any] = {}

    def check(self) -> None:
        """Raises KeyboardInterrupt if a signal has come."""
        if self.came:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        for number in SIGNALS:
            before = signal.getsignal(number)
            try:
                signal.signal(number, self._handler(before if number == signal.SIGINT else None))
            except ValueError:  # not the main thread: whoever is, takes care
                break
            self._before[number] = before
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()

    def _handler(self, before: Any) -> Callable[[int, FrameType | None], None]:
        def handle(number: int, frame: FrameType | None) -> None:
            self.came = True
            if callable(before):
                before(number, frame)
            raise KeyboardInterrupt

        return handle

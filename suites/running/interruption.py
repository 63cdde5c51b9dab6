"""Ctrl-C and SIGTERM end a run: everything undone, exit status 2, even where a library swallows the exception."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """While entered, either signal raises KeyboardInterrupt and is remembered; `check` raises it again.

    A signal that its owner had blocked until then comes at once.
    """

    def __init__(self) -> None:
        self.came = False
        self.reporting = False
        """The run is over and its reports are being written: a signal is remembered and ends nothing any more."""
        self.wake: int | None = None
        """A descriptor that can be read once a signal has come: for threads, whom no signal reaches."""
        self._end: int | None = None
        self._before: dict[signal.Signals, Any] = {}

    def check(self) -> None:
        """Raises KeyboardInterrupt if a signal has come."""
        if self.came:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        for number in SIGNALS:
            try:
                self._before[number] = signal.signal(number, self._handle)
            except ValueError:  # not the main thread: whoever is, takes care
                return self
        self.wake, self._end = os.pipe()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()
        for end in (self.wake, self._end):
            if end is not None:
                os.close(end)
        self.wake = self._end = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.came and self._end is not None:
            os.write(self._end, b"!")
        self.came = True
        if not self.reporting:
            raise KeyboardInterrupt

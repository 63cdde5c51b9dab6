"""Counts the operations of a history, the time in which schedules are written: `at op 200`."""

import threading
from collections.abc import Callable
from typing import Protocol


class OperationTicks(Protocol):
    """What a schedule needs of the workload."""

    def operations(self) -> int:
        """How many calls have been invoked so far."""

    def on_tick(self, listener: Callable[[], None], at: int | None) -> None:
        """Calls the listener when the `at`-th call is invoked (None: never again). One listener at a time."""


class OperationClock:
    """The workload calls `tick` once for each of its calls that is an operation of the history, from any thread, as the
    call is invoked; a poll is one once it has brought records. Who only looks on need not tick.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._at: int | None = None
        self._listener: Callable[[], None] | None = None

    def tick(self) -> int:
        """Counts one call; its number, from 1."""
        with self._lock:
            self._count += 1
            count = self._count
            due = self._at is not None and count >= self._at
            if due:
                self._at = None
        if due and self._listener is not None:
            self._listener()
        return count

    def operations(self) -> int:
        """How many calls have been invoked so far."""
        return self._count

    def on_tick(self, listener: Callable[[], None], at: int | None) -> None:
        """See Clock. A number that has passed already calls at once."""
        with self._lock:
            self._listener, self._at = listener, at
            due = at is not None and self._count >= at
            if due:
                self._at = None
        if due:
            listener()

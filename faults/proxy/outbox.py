"""What the proxy has seen, on its way to the harness: collected, and sent in bundles."""

import asyncio
import traceback
from collections.abc import Callable
from typing import Any

import msgspec

from brokertrial.faults.channel import ControlReport
from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Batch, Event, Membership, Operation

BUNDLE_SECONDS = 0.05
BUNDLE_ROWS = 2000
_TABLES = {Batch: "batches", Event: "events", Membership: "memberships", Operation: "operations"}
_encode = msgspec.msgpack.Encoder().encode


class Outbox:
    """Rows of a history, in the order seen; edges and reached triggers go at once and take along what was seen before
    them."""

    def __init__(self, send: Callable[[ControlReport], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._send = send
        self._rows: list[tuple[str, msgspec.Raw]] = []
        self._reported: set[object] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, row: Batch | Event | Membership | Operation) -> None:
        """A row for the history."""
        self._rows.append((_TABLES[type(row)], msgspec.Raw(_encode(row))))
        if len(self._rows) >= BUNDLE_ROWS:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(BUNDLE_SECONDS, self.flush)

    def event(
        self, kind: str, *, fields: dict[str, Any] | None = None, at_ns: int | None = None, **columns: Any
    ) -> None:
        """An event of the history, now unless `at_ns` says when."""
        text = msgspec.json.encode(fields).decode() if fields else None
        self.add(Event(kind=kind, at_ns=at_ns or now_ns(), fields=text, **columns))

    def event_once(self, kind: str, what: object, fields: dict[str, Any]) -> None:
        """The same, but not again for the same thing."""
        if (kind, what) not in self._reported:
            self._reported.add((kind, what))
            self.event(kind, fields=fields)

    def own_error(self, **columns: Any) -> None:
        """The exception that is being handled is a mistake of ours, not of the broker or a client."""
        self.event("proxy-error", fields={"traceback": traceback.format_exc()}, **columns)

    def reached(self, window: str, condition: str) -> None:
        """A message condition that a window waits for came true."""
        self.flush(ControlReport(reached=[(window, condition)]))

    def edge(self, window: str, edge: str) -> None:
        """A window began, hit for the first time, or ended, by the proxy's own doing."""
        self.flush(ControlReport(edges=[(window, edge, now_ns())]))

    def flush(self, message: ControlReport | None = None) -> None:
        """Sends what there is."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        message = message or ControlReport()
        message.rows, self._rows = self._rows, []
        self._send(message)

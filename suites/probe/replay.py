"""The tape played back: the same answers, in the same order, to the same case function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

from brokertrial.suites.probe.exchanger import ClosedByPeer, ConnectRefused, ReadTimeout, TranscriptEntry
from brokertrial.suites.probe.failures import TranscriptMismatch


class ReplayExchanger:
    """Answers from a tape. A case that asks for anything else is stopped with TranscriptMismatch."""

    def __init__(self, tape: Iterable[TranscriptEntry]) -> None:
        self._tape = list(tape)
        self._at = 0

    def open(self, connection: str, node: int, address: tuple[str, int], timeout_s: float) -> None:
        entry = self._next(("open", "refused"), connection)
        if entry.kind == "refused":
            raise ConnectRefused(entry.text)

    def send(self, connection: str, frame: bytes, api: str = "", version: int = -1) -> int:
        entry = self._next(("request",), connection)
        if entry.data != frame:
            raise TranscriptMismatch(
                f"request {self._at} on {connection!r}: the case now sends {api or 'bytes'} v{version} "
                f"({len(frame)} bytes), the history holds {entry.api or 'bytes'} v{entry.version} "
                f"({len(entry.data)} bytes)"
            )
        return entry.ns

    def together(self) -> AbstractContextManager[None]:
        """All has left already."""
        return nullcontext()

    def receive(self, connection: str, timeout_s: float, api: str = "", version: int = -1) -> tuple[bytes, int]:
        entry = self._next(("answer", "silence", "closed"), connection)
        if entry.kind == "silence":
            raise ReadTimeout
        if entry.kind == "closed":
            raise ClosedByPeer(entry.text)
        return entry.data, entry.ns

    def close(self, connection: str) -> None:
        entry = self._tape[self._at] if self._at < len(self._tape) else None
        if entry is not None and entry.kind == "close" and entry.connection == connection:
            self._at += 1

    def clock(self) -> tuple[int, int]:
        entry = self._next(("clock",), "")
        return entry.ns, int(entry.text)

    def pause(self, seconds: float) -> None:
        """Time has passed already."""

    def act(self, what: str, do: Callable[[], str]) -> str:
        return self._next(("action",), what).text

    def observe(self, path: str, look: Callable[[], str]) -> str:
        return self._next(("znode",), path).text

    @property
    def left(self) -> int:
        """Entries not played yet, closes apart: above 0 after a case, it stopped asking sooner than it did."""
        return sum(entry.kind != "close" for entry in self._tape[self._at :])

    def _next(self, kinds: tuple[str, ...], connection: str) -> TranscriptEntry:
        if self._at >= len(self._tape):
            raise TranscriptMismatch(f"the history ends where the case wants {kinds[0]} on {connection!r}")
        entry = self._tape[self._at]
        if entry.kind not in kinds or entry.connection != connection:
            raise TranscriptMismatch(
                f"entry {self._at}: the case wants {kinds[0]} on {connection!r}, "
                f"the history holds {entry.kind} on {entry.connection!r}"
            )
        self._at += 1
        return entry

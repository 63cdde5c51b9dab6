"""What a probe sent last, over all its connections, and what became of it: the proof where no single answer is one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import takewhile

from msgspec.structs import replace

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.rendering import errors_in
from brokertrial.suites.result import Evidence

KEPT = 64
SHOWN_BYTES = 4_096
SUSPECTS = 3
LOOKS = ("ApiVersions", "Metadata", "FindCoordinator", "ListOffsets", "Fetch", "OffsetFetch", "Describe", "List")
"""How the names of requests begin that change nothing."""


class SentFrame:
    """A request, or bytes that are none, on one connection."""

    def __init__(
        self, number: int, connection: str, where: str, frame: bytes, what: str, asked: PendingExchange | None, ns: int
    ) -> None:
        self.number = number
        self.connection = connection
        self.where = where
        self.frame = frame
        self.what = what
        self.asked = asked
        self.ns = ns
        self.answered_ns = 0
        self.lost_ns = 0
        """Its connection ended, by the other side's doing, before it was answered: after this time."""

    @property
    def over(self) -> bool:
        """Whether anybody saw what became of it."""
        return bool(self.answered_ns or self.lost_ns)

    @property
    def api(self) -> str:
        """What was asked for; empty of bytes."""
        return self.asked.request._api if self.asked is not None else ""

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{self.api} v{self.asked.version}" if self.asked is not None else f"{self.what or 'some'} bytes"

    @property
    def changes(self) -> bool:
        """Whether it may have changed something; of bytes that are no request nobody knows."""
        return not self.api.startswith(LOOKS) if self.api else True

    @property
    def wrote(self) -> bool:
        """Whether it is proof that the target took a record."""
        answer = self.asked.answer if self.asked is not None else None
        return self.api == "Produce" and answer is not None and next(errors_in(answer), None) is None

    def evidence(self, note: str = "") -> tuple[Evidence, ...]:
        """The exchange, or the bytes."""
        if self.asked is not None:
            asked, *answer = self.asked.evidence(note=note)
            return (asked, *answer) if answer else (replace(asked, note=note),)
        text = f"{len(self.frame)} bytes{f' ({self.what})' if self.what else ''}\n  -> {self.where}"
        return (Evidence("request", text, op=self.number, note=note, bytes_hex=self.frame[:SHOWN_BYTES].hex()),)


class Traffic:
    """Numbers what is sent, and keeps the latest."""

    def __init__(self) -> None:
        self._number = 0
        self._ns = 0
        self._sent: deque[SentFrame] = deque(maxlen=KEPT)
        self.exchanges: list[PendingExchange] | None = None
        """Every request of the case, with its answer; None where nobody wants them."""
        self.apis: set[str] = set()
        """Whatever was asked for."""
        self.raw = False
        """Whether bytes were sent that are no request."""

    def sent(
        self,
        connection: str,
        where: str,
        frame: bytes,
        what: str = "",
        asked: PendingExchange | None = None,
        ns: int = 0,
    ) -> int:
        """Takes note of what left, and when; returns its number."""
        self._number += 1
        if asked is None:
            self.raw = True
        else:
            self.apis.add(asked.request._api)
            if self.exchanges is not None:
                self.exchanges.append(asked)
        self._ns = max(ns, self._ns + 1)
        self._sent.append(SentFrame(self._number, connection, where, frame, what, asked, self._ns))
        return self._number

    def answered(self, connection: str, asked: PendingExchange | None = None, ns: int = 0) -> None:
        """A frame came, for this request; where nobody says for which, for the oldest bytes on that connection."""
        for entry in self._sent:
            if entry.connection == connection and not entry.answered_ns and entry.asked is asked:
                self._ns = entry.answered_ns = max(ns, self._ns + 1)
                return

    def closed(self, connection: str) -> None:
        """The other side ended the connection."""
        self._ns += 1
        for entry in self._sent:
            if entry.connection == connection and not entry.over:
                entry.lost_ns = self._ns

    def under_way(self, died_ns: int = 0) -> list[SentFrame]:
        """What was sent last on the connection that ended first since something was answered: of that a broker died.

        Connections that end after that one, or cannot be opened any more, carry what had no part in it; nor has what
        was sent, or answered by the broker that was brought back, after it died.
        """
        sent = [entry for entry in self._sent if not died_ns or entry.ns <= died_ns]
        lived_ns = max((entry.answered_ns for entry in sent if not died_ns or entry.answered_ns <= died_ns), default=0)
        if not (lost := [entry for entry in sent if entry.lost_ns > lived_ns]):
            return sent[-1:]
        first = min(lost, key=lambda entry: (entry.lost_ns, -entry.ns))
        unheard = [entry for entry in sent if lived_ns < entry.ns < first.ns and not entry.over]
        return [*unheard[:SUSPECTS], first]

    def suspects(self) -> list[SentFrame]:
        """What was sent since the target last took a record, the first of each kind that may have changed something."""
        since = list(takewhile(lambda entry: not entry.wrote, reversed(self._sent)))[::-1] or list(self._sent)[-1:]
        changes = [entry for entry in since if entry.changes]
        before = list(takewhile(lambda entry: entry.api != "Produce", changes))  # one that is not taken shows it only
        first = {entry.name: entry for entry in reversed(before or changes)}
        return sorted(first.values(), key=lambda entry: entry.number)[:SUSPECTS] or since[-1:]

    def latest_exchanges(self) -> Iterator[PendingExchange]:
        """The exchanges that have an answer, the newest first."""
        for entry in reversed(self._sent):
            if entry.asked is not None and entry.asked.answer is not None:
                yield entry.asked

    def latest_answer(self) -> tuple[Evidence, ...]:
        """The newest exchange that has an answer."""
        latest = next(self.latest_exchanges(), None)
        return latest.evidence() if latest is not None else ()

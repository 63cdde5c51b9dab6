"""What a probe sent last, over all its connections, and what became of it: the proof where no single answer is one."""

from __future__ import annotations

from collections import deque

from suites.probe.answer import Asked
from suites.result import Evidence

KEPT = 64
SHOWN_BYTES = 4_096


class Sent:
    """A request, or bytes that are none, on one connection."""

    def __init__(self, number: int, connection: str, where: str, frame: bytes, what: str, asked: Asked | None) -> None:
        self.number = number
        self.connection = connection
        self.where = where
        self.frame = frame
        self.what = what
        self.asked = asked
        self.answered = False
        self.lost = False
        """Its connection ended, by the other side's doing, before it was answered."""

    def evidence(self, note: str = "") -> tuple[Evidence, ...]:
        """The exchange, or the bytes."""
        if self.asked is not None:
            return self.asked.evidence(note=note)
        text = f"{len(self.frame)} bytes{f' ({self.what})' if self.what else ''}\n  -> {self.where}"
        return (Evidence("request", text, op=self.number, note=note, bytes_hex=self.frame[:SHOWN_BYTES].hex()),)


class Traffic:
    """Numbers what is sent, and keeps the latest."""

    def __init__(self) -> None:
        self._number = 0
        self._sent: deque[Sent] = deque(maxlen=KEPT)
        self._ended_with: dict[str, Sent] = {}
        self.exchanges: list[Asked] | None = None
        """Every request of the case, with its answer; None where nobody wants them."""
        self.raw = False
        """Whether bytes were sent that are no request."""

    def sent(self, connection: str, where: str, frame: bytes, what: str = "", asked: Asked | None = None) -> int:
        """Takes note of what left; returns its number."""
        self._number += 1
        if asked is None:
            self.raw = True
        elif self.exchanges is not None:
            self.exchanges.append(asked)
        self._sent.append(Sent(self._number, connection, where, frame, what, asked))
        return self._number

    def answered(self, connection: str, asked: Asked | None = None) -> None:
        """A frame came, for this request; where nobody says for which, for the oldest bytes on that connection."""
        for entry in self._sent:
            if entry.connection == connection and not entry.answered and entry.asked is asked:
                entry.answered = True
                self._ended_with.clear()  # it lives
                return

    def closed(self, connection: str) -> None:
        """The other side ended the connection."""
        for entry in self._sent:
            if entry.connection == connection and not (entry.answered or entry.lost):
                entry.lost = True
                self._ended_with[connection] = entry

    def under_way(self) -> tuple[Evidence, ...]:
        """What was sent last on the connection that ended first since something was answered: of that a broker died.

        Connections that end after that one, or cannot be opened any more, carry what had no part in it.
        """
        last = next(iter(self._ended_with.values()), self._sent[-1] if self._sent else None)
        return last.evidence("under way when the broker died") if last is not None else ()

    def latest_answer(self) -> tuple[Evidence, ...]:
        """The newest exchange that has an answer."""
        for entry in reversed(self._sent):
            if entry.asked is not None and entry.asked.answer is not None:
                return entry.asked.evidence()
        return ()

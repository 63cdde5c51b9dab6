"""The bytes that a listener keeps for its clients, all of them together, and who pays when they are too many.

What counts is what only a client can end: a request that is not whole yet, requests behind one that waits, an answer
that is not read. Kafka bounds the first with queued.max.request.bytes and has no need to bound the last: it sends from
files.
"""

from __future__ import annotations

from typing import Protocol

from brokertrial.reference_impl import bugs

_SHARE_OF_LARGE = 8


class Holder(Protocol):
    """A connection, as the budget sees it."""

    def abort(self) -> None:
        """Ends at once; what was kept for its client is dropped."""


class Budget:
    """Counts what each connection holds; over the limit, the one that holds most is ended."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        self._held: dict[Holder, int] = {}

    @property
    def room(self) -> int:
        """An answer that can be shorter should be no longer than this: large ones cost the others time as well."""
        return max(self.limit // _SHARE_OF_LARGE - self.total, 0)

    def note(self, holder: Holder, held: int) -> None:
        """The connection holds so many bytes from now on."""
        self.total += held - self._held.pop(holder, 0)
        if held:
            self._held[holder] = held
        while self.total > self.limit and self._held:
            greediest = max(self._held, key=self._held.__getitem__)
            self.total -= self._held.pop(greediest)
            greediest.abort()

    def drop(self, holder: Holder) -> None:
        """The connection is gone, and all that was kept for it."""
        self.total -= self._held.pop(holder, 0) * (not bugs.on("B359"))

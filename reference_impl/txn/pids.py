"""Producer ids, handed out from durable blocks: a restart wastes the rest of a block, and never repeats an id."""

from __future__ import annotations

from collections.abc import Callable

from brokertrial.reference_impl import bugs

BLOCK = 1000


class NoBlockYet(Exception):
    """The controller has not given this broker any producer ids yet."""


class ProducerIds:
    """The next id nobody had before; `allocate(count)` makes a new block durable and returns its first id."""

    def __init__(self, allocate: Callable[[int], int]) -> None:
        self._allocate = allocate
        self._next = self._end = 0
        self._former: dict[str, int] = {}

    def resigned(self, transactional_id: str, producer_id: int) -> None:
        """Another node coordinates this transactional id now."""
        if bugs.on("B355"):
            self._former[transactional_id] = producer_id

    def next(self, transactional_id: str = "") -> int:
        """One producer id, for one caller, once."""
        if transactional_id in self._former:
            return self._former.pop(transactional_id)
        if self._next == self._end:
            self._next = 0 if bugs.on("M11d") else self._allocate(BLOCK)
            self._end = self._next + BLOCK + bugs.on("B49")
        given = self._next
        self._next += 0 if bugs.on("N11") else 1
        return given

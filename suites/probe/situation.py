"""How a case meets the target: what is done to its requests and between them, while what must hold stays as it is.

A case knows nothing of it. This one is the plain situation, in which nothing is done; the others are in
suites/situations/, one file each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from brokertrial.wire.messages import Struct

if TYPE_CHECKING:
    from brokertrial.suites.probe.answer import PendingExchange


class Situation:
    """One attempt's. It acts on the case's own thread, through its exchanger, so that all it does is in the history."""

    needs: ClassVar[tuple[str, ...]] = ()
    """What the target must be able to do, beyond what the case needs (suites/capabilities.py)."""

    def __init__(self) -> None:
        self.first_correlation_id = 0
        """Correlation ids of a connection are counted from here."""
        self.asks_times = True
        """Whether the closing look asks about times: not where others have written to these logs before."""
        self.effects = 0
        """How often it changed anything: a case on which it had no effect was not tried in it."""
        self._suspended = 0

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Steps in which it does nothing between requests: its own, and those that belong together."""
        self._suspended += 1
        try:
            yield
        finally:
            self._suspended -= 1

    def before(self, asked: Struct) -> None:
        """A request is about to be sent."""
        if not self._suspended:
            with self.suspended():
                self.act_before(asked)

    def act_before(self, asked: Struct) -> None:
        """What is done between two requests of the case."""

    def worded(self, meant: Struct, version: int) -> Struct:
        """The request that is sent, in this version, where the case means that one: itself, or another in its place."""
        return meant

    def understood(self, asked: PendingExchange) -> None:
        """An answer to a request that was worded otherwise is here: `asked.answer` is made what the case is told."""

    def client_name(self, usual: str) -> str | None:
        """The client id of a new connection."""
        return usual

    def newest(self, api: str, low: int, high: int) -> int:
        """The newest version to ask in; both sides know those from `low` to `high`."""
        return high

    def topic_settings(self, configs: Mapping[str, str]) -> Mapping[str, str]:
        """The settings of a new topic; the case asks for `configs`."""
        return configs

    def topic_made(self, topic: str, partitions: int) -> None:
        """A new topic is there, and nothing is in it."""

    def at_the_end(self) -> None:
        """The case has passed; the closing look is next."""

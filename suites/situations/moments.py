"""When a case is disturbed: a drawn moment between two of its requests, at which that is fair.

    draw 1    before the first question about what the case has made
    draw 2    at the end, before the closing look
    draw 3    before a drawn request, once something has been made

A moment is fair when no answer is under way and nothing is there that a broker may forget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from brokertrial.suites.probe.answer import PendingExchange
from brokertrial.suites.probe.traffic import LOOKS
from brokertrial.suites.probe.wire import Wire

FIRST_QUESTION, AT_THE_END = 1, 2
LATEST = 6
"""Requests after the first change, for the drawn moment."""
ROUTING = ("ApiVersions", "Metadata", "FindCoordinator", "DescribeCluster")
MAKES_TOPICS = "CreateTopics"


class Moment:
    """The moment of one attempt; it comes once at the most."""

    def __init__(self, number: int, rng: Random) -> None:
        self.is_at_the_end = number == AT_THE_END
        self._before_question = number == FIRST_QUESTION
        self._skip = rng.randint(1, LATEST)
        self._requests = 0
        self.is_over = False

    def has_come(self, wire: Wire, api: str) -> bool:
        """Whether this is it, before a request of this API is sent."""
        if self.is_over or self.is_at_the_end or api in ROUTING or wire.awaits_answers:
            return False
        exchanges = wire.traffic.exchanges or ()
        if not any(_changes(asked) for asked in exchanges):
            return False
        self._requests += 1
        ready = api.startswith(LOOKS) if self._before_question else self._requests >= self._skip
        if not ready or wire.traffic.raw or not is_fair(exchanges):
            return False
        self.is_over = True
        return True


def is_fair(exchanges: Sequence[PendingExchange]) -> bool:
    """Whether a broker must keep, over a stop, a crash or a move, all that was asked of it."""
    return not (_wrote_to_one_replica(exchanges) or _has_a_session(exchanges) or _joins(exchanges))


def _changes(asked: PendingExchange) -> bool:
    api = asked.request._api
    return asked.answer is not None and not api.startswith(LOOKS) and api != MAKES_TOPICS


def _wrote_to_one_replica(exchanges: Iterable[PendingExchange]) -> bool:
    """acks=1 and acks=0 promise nothing when a leader goes."""
    return any(asked.request._api == "Produce" and asked.request.acks != -1 for asked in exchanges)


def _has_a_session(exchanges: Iterable[PendingExchange]) -> bool:
    """A broker keeps fetch sessions in memory alone (KIP-227)."""
    return any(
        asked.request._api == "Fetch" and getattr(asked.answer, "session_id", 0) != 0
        for asked in exchanges
        if asked.answer is not None
    )


def _joins(exchanges: Iterable[PendingExchange]) -> bool:
    """A classic group is kept once its leader has told the assignments; before, its members begin again."""
    synced: dict[str, bool] = {}
    for asked in exchanges:
        if asked.request._api == "JoinGroup":
            synced[asked.request.group_id] = False
        elif asked.request._api == "SyncGroup" and asked.answer is not None and asked.request.assignments:
            synced[asked.request.group_id] = asked.answer.error_code == 0
    return not all(synced.values())

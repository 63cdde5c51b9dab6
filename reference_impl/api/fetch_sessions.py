"""Fetch sessions (KIP-227): what a consumer wants is remembered, and only changes are answered. Pure."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.wire import errors, records
from brokertrial.wire.messages import Struct

NO_SESSION = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
_MAX_EPOCH = (1 << 31) - 1
_IDLE_S = 120.0
_MOST_PARTITIONS = 100_000  # remembered by all sessions together


class SessionPartition(NamedTuple):
    """A partition as the request names it: by topic id from v13 on, by name before."""

    topic: str | uuid.UUID
    partition: int


@dataclass(slots=True)
class SessionEntry:
    """What a partition was asked for, and what its consumer was told last."""

    request: Struct
    high_watermark: int = -1
    log_start: int = -1


def _of_a_transaction(data: bytes) -> bool:
    """Whether the first batch belongs to a transaction."""
    first = next(iter(records.batches(data)), None)
    return first is not None and first.header.is_transactional


@dataclass(slots=True)
class FetchSession:
    """One consumer's set of partitions, in the order in which they are served."""

    id: int
    by_id: bool
    last_used: float
    began: float
    epoch: int = 1
    partitions: dict[SessionPartition, SessionEntry] = field(default_factory=dict)

    @property
    def may_make_room(self) -> bool:
        """Whether it was old enough for that when it was used last; until then it is left alone by larger ones."""
        return self.last_used - self.began > _IDLE_S

    def update(self, wanted: Iterable[tuple[SessionPartition, Struct]], forgotten: Iterable[SessionPartition]) -> None:
        """Takes an incremental request in."""
        for key, request in wanted:
            known = self.partitions.get(key)
            if known is not None and request.fetch_offset < known.request.fetch_offset and bugs.on("Q11"):
                continue
            if known is not None:
                if bugs.on("L03"):
                    request.current_leader_epoch = known.request.current_leader_epoch
                if bugs.on("L04"):
                    request.last_fetched_epoch = known.request.last_fetched_epoch
                known.request = request
            else:
                self.partitions[key] = SessionEntry(request)
        for key in () if bugs.on("N06") else forgotten:
            self.partitions.pop(key, None)

    def changed(self, key: SessionPartition, answer: Struct) -> bool:
        """True when an answer has to be sent; a partition with data goes to the back of the queue."""
        known = self.partitions.get(key)
        if known is None:
            return True
        has_data = bool(answer.records)
        if has_data and _of_a_transaction(answer.records) and bugs.on("R01"):
            return False
        news = (
            has_data
            or known.high_watermark != answer.high_watermark
            or known.log_start != answer.log_start_offset
            or (answer.error_code != errors.NONE and not (known.high_watermark < 0 and bugs.on("B132")))
            or answer.diverging_epoch.epoch != -1
            or (answer.preferred_read_replica != -1 and not bugs.on("D89"))
        )
        known.high_watermark = answer.high_watermark if answer.error_code == errors.NONE else -1
        known.log_start = answer.log_start_offset
        goes_back = news if bugs.on("F06") else has_data
        if goes_back and not bugs.on("P28") and not (len(self.partitions) > 64 and bugs.on("B293")):
            self.partitions[key] = self.partitions.pop(key)
        return news


class Sessionless(NamedTuple):
    """A fetch that stands alone."""


class SessionError(NamedTuple):
    """A fetch that names a session which is not there, or not in this state."""

    error: int


class Opening(NamedTuple):
    """A full fetch: its answer may open a session."""


class Incremental(NamedTuple):
    """A fetch that says only what changed."""

    session: FetchSession


Mode = Sessionless | SessionError | Opening | Incremental


class FetchSessions:
    """The sessions of one broker; when the slots are full idle ones make room, and small old ones for larger ones."""

    def __init__(self, slots: int, rng: random.Random, now: Callable[[], float]) -> None:
        self._slots, self._rng, self._now = slots, rng, now
        self._sessions: dict[int, FetchSession] = {}

    def mode(
        self,
        session_id: int,
        epoch: int,
        *,
        by_id: bool,
        wanted: Iterable[tuple[SessionPartition, Struct]],
        forgotten: Iterable[SessionPartition],
    ) -> Mode:
        """What kind of fetch this is; a session that is used moves on to its next epoch."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(session_id, None)
            return Sessionless() if epoch == FINAL_EPOCH else Opening()
        session = self._sessions.get(session_id)
        if session is None:
            return SessionError(errors.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch and not bugs.on("N07"):
            return SessionError(errors.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != by_id and not bugs.on("S09"):
            return SessionError(errors.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(wanted, forgotten)
        if len(session.partitions) > _MOST_PARTITIONS:
            del self._sessions[session_id]
            return SessionError(errors.FETCH_SESSION_ID_NOT_FOUND)
        if not session.partitions:
            del self._sessions[session_id]
            return Sessionless()
        session.last_used = self._now()
        session.epoch = 1 if epoch == _MAX_EPOCH else epoch + 1
        return Incremental(session)

    def open(self, *, by_id: bool, answered: Collection[tuple[SessionPartition, Struct, Struct]]) -> int:
        """Opens a session for (key, request, answer) triples; its id, or 0 when there is no slot."""
        if sum(len(one.partitions) for one in self._sessions.values()) + len(answered) > _MOST_PARTITIONS:
            return NO_SESSION
        if len(self._sessions) >= self._slots and not self._evict(len(answered)):
            return NO_SESSION
        now = self._now()
        session = FetchSession(self._new_id(), by_id, now, now)
        for key, request, answer in answered:
            if answer.error_code and bugs.on("S11"):
                continue
            session.partitions[key] = SessionEntry(request)
            session.changed(key, answer)
        self._sessions[session.id] = session
        return session.id

    def _evict(self, partitions: int) -> bool:
        """Ends the session that is idle longest, if that is long, else the smallest old one, if it is the smaller."""
        oldest = min(self._sessions.values(), key=lambda s: s.last_used, default=None)
        if oldest is not None and self._now() - oldest.last_used > (0 if bugs.on("B295") else _IDLE_S):
            del self._sessions[oldest.id]
            return True
        evictable = (one for one in self._sessions.values() if one.may_make_room)
        smallest = min(evictable, key=lambda s: (len(s.partitions), s.id), default=None)
        if smallest is None or len(smallest.partitions) >= partitions:
            return False
        del self._sessions[smallest.id]
        return True

    def _new_id(self) -> int:
        return next(n for n in self._numbers() if n not in self._sessions)

    def _numbers(self) -> Iterator[int]:
        while True:
            yield self._rng.randrange(1, _MAX_EPOCH)

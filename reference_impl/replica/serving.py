"""The leader's side of replication: what one following broker has asked for, and what is new for it.

A session as in KIP-227: the follower names every partition once, then only those whose position has changed; the
answer holds only partitions with news. Synchronous: the edge that waits is `api/fetch.py`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log.epochs import UNKNOWN
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.reference_impl.replica.throttle import Unthrottled
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, child, response

_Topic = child("Fetch", "response", "responses")
_Part = child("Fetch", "response", "responses.partitions")

TopicIdPartition = tuple[uuid.UUID, int]
FindPartition = Callable[[uuid.UUID, int], "Partition | int"]
"""The partition that this broker leads, or the error that says why it cannot serve it."""


@dataclass(slots=True)
class Position:
    """Where a follower is in one partition, and what it was last told."""

    epoch: int
    offset: int
    last_fetched_epoch: int
    log_start: int
    max_bytes: int
    told_high_watermark: int = -1
    told_start: int = -1


class FollowerSession:
    """All partitions that one incarnation of one broker follows here."""

    def __init__(self, session_id: int, replica: int, broker_epoch: int, find: FindPartition) -> None:
        self.id, self.replica, self.broker_epoch = session_id, replica, broker_epoch
        self.epoch = 0
        self.on_news: Callable[[], None] = nobody_waits
        self.throttle = Unthrottled()
        self._find = find
        self._positions: dict[TopicIdPartition, Position] = {}
        self._fresh: dict[TopicIdPartition, None] = {}
        self._early: set[TopicIdPartition] = set()
        """What it fetches before this broker has heard that it is a replica: it does not name its position again."""
        self._watched: dict[TopicIdPartition, tuple[Partition, Callable[[], None]]] = {}

    def update(self, request: Struct) -> None:
        """Takes in where the follower is now; the leader's books follow at once."""
        self.epoch += 1
        for topic in request.topics:
            for part in topic.partitions:
                key = (topic.topic_id, part.partition)
                told = self._positions.get(key)
                position = Position(
                    part.current_leader_epoch,
                    part.fetch_offset,
                    part.last_fetched_epoch,
                    part.log_start_offset,
                    part.partition_max_bytes,
                )
                if told is not None:
                    position.told_high_watermark, position.told_start = told.told_high_watermark, told.told_start
                self._positions[key] = position
                self._fresh[key] = None
                self._note(key, position)
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                self._forget((topic.topic_id, index))
        for key in tuple(self._early):
            self._note(key, self._positions[key])
        for key, (partition, _) in tuple(self._watched.items()):
            if partition.leading is not None and self.replica not in partition.leading.isr:
                self._note(key, self._positions[key])  # who names nothing new says the same again

    def _note(self, key: TopicIdPartition, position: Position) -> None:
        partition = self._find(*key)
        if isinstance(partition, int):
            return
        watched = self._watched.get(key)
        if watched is None or watched[0] is not partition:
            if watched is not None:
                watched[0].unwatch(watched[1])

            def news() -> None:
                self._fresh[key] = None
                known = self._positions[key]
                if partition.leading is None or partition.log.end_offset > known.offset or partition.deleted:
                    self.on_news()

            self._watched[key] = (partition, news)
            partition.watch(news)
        leading = partition.leading
        if leading is None or partition.check_epoch(position.epoch):
            return
        if self.replica not in leading.followers:
            self._early.add(key)
            return
        self._early.discard(key)
        parted = not _is_known(partition, position) or _diverging(partition, position) is not None
        fits = not parted or bugs.on("B32")
        if fits and partition.log.start_offset <= position.offset <= partition.log.end_offset:
            partition.replica_fetched(self.replica, position.log_start, position.offset, self.broker_epoch)

    def as_at_first(self) -> None:
        """Everything is to be told again, as to a follower without a session."""
        for key, position in self._positions.items():
            position.told_high_watermark = position.told_start = -1
            self._fresh[key] = None

    def _forget(self, key: TopicIdPartition) -> None:
        self._positions.pop(key, None)
        self._fresh.pop(key, None)
        self._early.discard(key)
        watched = self._watched.pop(key, None)
        if watched is not None:
            watched[0].unwatch(watched[1])

    def close(self) -> None:
        """The follower is gone, or has begun another session."""
        for key in list(self._positions):
            self._forget(key)

    def collect(self, max_bytes: int) -> list[tuple[TopicIdPartition, Struct]]:
        """The news there are: what is answered comes no more until it changes, but for records that are still behind
        the position that was named last."""
        found: list[tuple[TopicIdPartition, Struct]] = []
        room, size = max_bytes, 0
        for key in list(self._fresh):
            if size and room <= 0:
                break
            del self._fresh[key]
            part = self._news(key, self._positions[key], room, first=size == 0)
            if part is not None:
                found.append((key, part))
                size += len(part.records)
                room -= len(part.records)
        if not bugs.on("B56"):
            self._fresh |= {key: None for key, part in found if part.records}
        return found

    def _news(self, key: TopicIdPartition, position: Position, room: int, *, first: bool) -> Struct | None:
        partition = self._find(*key)
        error = partition if isinstance(partition, int) else partition.check_epoch(position.epoch)
        if error or isinstance(partition, int):
            return _Part(partition_index=key[1], error_code=error, high_watermark=-1, records=b"")
        diverging = _diverging(partition, position)
        if diverging is not None:
            part = _answer(partition, b"")
            part.diverging_epoch.epoch, part.diverging_epoch.end_offset = diverging
            return part
        log = partition.log
        if not (_is_known(partition, position) and log.start_offset <= position.offset <= log.end_offset):
            part = _answer(partition, b"")
            part.error_code = errors.OFFSET_OUT_OF_RANGE
            return part
        limit = min(position.max_bytes, room)
        data = b""
        if position.offset < log.end_offset:
            if not self.throttle.holds_back(partition, self.replica):
                data = log.read(position.offset, limit, log.end_offset, at_least_one=first)
                self.throttle.took(partition, self.replica, len(data))
            if not data and not bugs.on("J07"):
                self._fresh[key] = None  # no room for it this time
        told = (position.told_high_watermark, position.told_start)
        if not data and told == (partition.high_watermark, log.start_offset):
            return None
        position.told_high_watermark, position.told_start = partition.high_watermark, log.start_offset
        return _answer(partition, data)


def nobody_waits() -> None:
    """What news are worth while no request is waiting."""


def _is_known(partition: Partition, position: Position) -> bool:
    """Whether the epoch of the follower's last record is one that the leader's log had, if it names one."""
    epoch, log = position.last_fetched_epoch, partition.log
    return epoch < 0 or log.epochs.end_offset(epoch, log.end_offset) != UNKNOWN


def _diverging(partition: Partition, position: Position) -> tuple[int, int] | None:
    """Where the follower's past parts from the leader's; None where they agree, or nothing can be said."""
    if position.last_fetched_epoch < 0 or bugs.on("M34c"):
        return None
    found = partition.log.epochs.end_offset(position.last_fetched_epoch, partition.log.end_offset)
    if found == UNKNOWN or (found[0] >= position.last_fetched_epoch and found[1] >= position.offset):
        return None
    return found


def _answer(partition: Partition, data: bytes) -> Struct:
    return _Part(
        partition_index=partition.index,
        error_code=errors.NONE,
        high_watermark=partition.high_watermark,
        last_stable_offset=-1,
        log_start_offset=partition.log.start_offset,
        aborted_transactions=None,
        records=data,
    )


def as_response(session_id: int, found: list[tuple[TopicIdPartition, Struct]]) -> Struct:
    """A Fetch answer with these partitions, by topic."""
    topics: dict[uuid.UUID, Struct] = {}
    for (topic_id, _), part in found:
        topics.setdefault(topic_id, _Topic(topic_id=topic_id)).partitions.append(part)
    return response("Fetch", session_id=session_id, responses=list(topics.values()))

"""The follower's side of replication: what this broker asks of one leader, and what it makes of the answer.

Synchronous: the edge that talks to the leader is `fetcher.py`. Truncation goes by leader epochs alone: every request
says which epoch the log's end is of, and the leader says where that epoch ended in its own log (KIP-101, KIP-595).
"""

from __future__ import annotations

import logging
import uuid

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.reference_impl.replica.serving import TopicIdPartition
from brokertrial.reference_impl.replica.throttle import Unthrottled
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, child, request

log = logging.getLogger("replication")

_Topic = child("Fetch", "request", "topics")
_Part = child("Fetch", "request", "topics.partitions")
_Forgotten = child("Fetch", "request", "forgotten_topics_data")
_PARTITION_BYTES, _ANSWER_BYTES = 1 << 20, 10 << 20
_RETRY_S = 0.05


class Following:
    """All partitions whose leader is one other broker."""

    def __init__(self, me: int, wait_ms: int) -> None:
        self._me, self._wait_ms = me, wait_ms
        self.throttle = Unthrottled()
        self._partitions: dict[TopicIdPartition, Partition] = {}
        self._changed: dict[TopicIdPartition, None] = {}
        self._forgotten: dict[TopicIdPartition, None] = {}
        self._later: dict[TopicIdPartition, float] = {}
        self._session_id = self._session_epoch = 0
        self._named: dict[TopicIdPartition, Partition] = {}
        """What the leader was told of: an answer about a replica that was given up since is not for the next one."""
        self._told_start: dict[TopicIdPartition, int] = {}
        """Where the log begins, as the leader was told last: retention may delete here before it does there."""
        self._new_here: set[TopicIdPartition] = set()
        """What this connection has brought nothing of yet."""

    def __len__(self) -> int:
        return len(self._partitions)

    def follow(self, key: TopicIdPartition, partition: Partition) -> None:
        """From now on, or in a new leader epoch, this partition comes from there."""
        self._partitions[key] = partition
        self._changed[key] = None
        if not bugs.on("J08"):
            self._forgotten.pop(key, None)
        self._later.pop(key, None)

    def leave(self, key: TopicIdPartition) -> None:
        """Another broker leads it now, or it is gone."""
        if self._partitions.pop(key, None) is not None:
            self._changed.pop(key, None)
            self._later.pop(key, None)
            self._named.pop(key, None)
            self._told_start.pop(key, None)
            self._forgotten[key] = None

    def restart(self) -> None:
        """The leader may have forgotten everything: the next request names all partitions again."""
        self._new_here = set(self._partitions)
        self._session_id = self._session_epoch = 0
        self._changed = dict.fromkeys(self._partitions)
        self._forgotten.clear()
        self._later.clear()

    def request(self, broker_epoch: int, now_s: float) -> Struct:
        """The next Fetch request."""
        due = [key for key, at_s in self._later.items() if at_s <= now_s]
        for key in due:
            del self._later[key]
            self._changed[key] = None
            self._forgotten.pop(key, None)
        for key, told in self._told_start.items():
            if self._partitions[key].log.start_offset != told and key not in self._later:
                self._changed[key] = None
        for key in [key for key in self._changed if self.throttle.holds_back(self._partitions[key], self._me)]:
            self._rests(key, now_s)
        topics: dict[uuid.UUID, Struct] = {}
        for key in list(self._changed)[: 64 if bugs.on("B362") else None]:
            self._named[key] = self._partitions[key]
            self._told_start[key] = self._partitions[key].log.start_offset
            topics.setdefault(key[0], _Topic(topic_id=key[0])).partitions.append(self._wanted(key))
        gone: dict[uuid.UUID, Struct] = {}
        for topic_id, index in self._forgotten:
            gone.setdefault(topic_id, _Forgotten(topic_id=topic_id, partitions=[])).partitions.append(index)
        asked = request(
            "Fetch", max_wait_ms=min(self._wait_ms, int(_RETRY_S * 1000)) if self._later else self._wait_ms,
            min_bytes=1, max_bytes=_ANSWER_BYTES, session_id=self._session_id, session_epoch=self._session_epoch,
            topics=list(topics.values()), forgotten_topics_data=list(gone.values()),
        )  # fmt: skip
        asked.replica_state.replica_id, asked.replica_state.replica_epoch = self._me, broker_epoch
        self._changed.clear()
        self._forgotten.clear()
        return asked

    def _rests(self, key: TopicIdPartition, now_s: float) -> None:
        """Not asked for until a little later; the leader sends nothing of it meanwhile."""
        self._changed.pop(key, None)
        self._later[key] = now_s + _RETRY_S
        self._forgotten[key] = None

    def _wanted(self, key: TopicIdPartition) -> Struct:
        partition = self._partitions[key]
        latest = partition.log.epochs.latest()
        return _Part(
            partition=key[1],
            current_leader_epoch=partition.leader_epoch,
            fetch_offset=partition.log.end_offset,
            last_fetched_epoch=-1 if latest is None else latest,
            log_start_offset=partition.log.start_offset,
            partition_max_bytes=_PARTITION_BYTES,
        )

    def take(self, answer: Struct, now_s: float) -> None:
        """Brings every partition of the answer up to date; what failed is asked for again a little later."""
        if answer.error_code:
            self.restart()
            return
        self._session_id = answer.session_id
        self._session_epoch += 1
        for topic in answer.responses:
            for part in topic.partitions:
                key = (topic.topic_id, part.partition_index)
                partition = self._partitions.get(key)
                if partition is None or partition.leading is not None or self._named.get(key) is not partition:
                    continue
                try:
                    advanced = _advance(partition, part, begins=key in self._new_here)
                    self._new_here.discard(key)
                except (OSError, ValueError) as error:
                    log.warning("%s-%d: %s", partition.topic, partition.index, error)
                    advanced = False
                self.throttle.took(partition, self._me, len(part.records or b""))
                if advanced:
                    self._changed[key] = None
                else:  # as Apache Kafka does; else the leader would send the same again at once
                    self._rests(key, now_s)


def _advance(partition: Partition, part: Struct, *, begins: bool) -> bool:
    """True when the follower can go on at once."""
    if begins and part.high_watermark > partition.log.end_offset and bugs.on("B10"):
        partition.start_over(part.high_watermark)
        return True
    if part.error_code == errors.OFFSET_OUT_OF_RANGE:
        partition.start_over(part.high_watermark if bugs.on("B21") else part.log_start_offset)
        return False
    if part.error_code:
        return False
    if 0 <= part.diverging_epoch.end_offset < partition.log.end_offset and bugs.on("B24"):
        partition.start_over(part.log_start_offset)
        return True
    if part.diverging_epoch.epoch >= 0 or part.diverging_epoch.end_offset >= 0:
        before = partition.log.end_offset
        partition.part_ways(part.diverging_epoch.epoch, part.diverging_epoch.end_offset)
        return partition.log.end_offset < before
    partition.replicate(part.records or b"", part.high_watermark, part.log_start_offset)
    return True

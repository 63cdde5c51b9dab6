"""The partitions of this broker, each in the role that the metadata gives it: opened, led, followed, given up."""

from __future__ import annotations

import logging
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.control.image import NOBODY, JsonRecord, TopicImage
from brokertrial.reference_impl.log.recovery import open_log
from brokertrial.reference_impl.replica.fetcher import Fetcher
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.reference_impl.replica.serving import FollowerSession
from brokertrial.reference_impl.replica.spoil import SpoiledPartition
from brokertrial.reference_impl.replica.throttle import FOLLOWER, LEADER, Throttle
from brokertrial.reference_impl.settings.config import LogSettings, TopicRules
from brokertrial.wire import errors

if TYPE_CHECKING:
    from brokertrial.reference_impl.replica.local_node import LocalNode

log = logging.getLogger("replicas")
_TOPIC_ID = "topic-id"
_HIGH_WATERMARKS = "high-watermarks"


class Replicas:
    """All replicas on this broker. `leadership` hears of every partition that is led from now on, or no more."""

    def __init__(self, node: LocalNode) -> None:
        self._node = node
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._fetchers: dict[int, Fetcher] = {}
        self._followed: dict[tuple[uuid.UUID, int], int] = {}  # the broker that each partition is fetched from
        self._sessions: dict[int, FollowerSession] = {}
        self._throttles = {side: Throttle(node, side) for side in (LEADER, FOLLOWER)}
        self.leadership: list[Callable[[str, int, bool], None]] = []
        self.paused = False
        self._changed_before = False  # a setting of the brokers
        self._added: set[tuple[str, int]] = set()  # partitions that are being added here
        self._unopened: set[str] = set()  # topics with replicas that found no room on the disk

    def __iter__(self) -> Iterator[Partition]:
        return iter(tuple(self._partitions.values()))

    def __len__(self) -> int:
        return len(self._partitions)

    def get(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    # Life

    def open_all(self, *, clean: bool) -> None:
        """Opens what the image places here, after a start; folders of what it does not know are removed."""
        marks = self._load_high_watermarks()
        for topic in self._node.topics.all():
            for index, placement in enumerate(topic.placements):
                if self._node.node_id in placement.replicas:
                    partition = self._open(topic, index, clean=clean)
                    mark = partition.log.end_offset if clean and bugs.on("B325") else marks.get((topic.name, index), 0)
                    partition.checkpointed(mark)
                    if not clean and partition.log.end_offset == 0 and bugs.on("K22"):
                        partition.leader_epoch = placement.leader_epoch
        self._remove_strays()
        for topic in self._node.topics.all():
            self._settle(topic)

    def close(self) -> None:
        """Stops following and closes all files, cleanly."""
        for fetcher in self._fetchers.values():
            fetcher.stop()
        self.save_high_watermarks()
        for partition in self._partitions.values():
            partition.close(clean=True)

    # What the metadata says

    def on_record(self, record: JsonRecord) -> None:
        """Follows one record that has just been applied to the image."""
        kind = record["kind"]
        if kind == "topic_deleted":
            self._deleted(record["name"])
        elif kind in ("topic", "partitions", "partition"):
            self._settle(self._node.image.topics[record["name"]], record.get("index"))
        elif kind == "topic_configs":
            self.apply_rules(self._node.image.topics[record["name"]])
        elif kind == "broker_configs" and not bugs.on("Q10"):
            self._changed_before, again = True, self._changed_before
            for topic in self._node.topics.all():
                self.apply_rules(topic, overridden=not (again and bugs.on("V84")))

    def _settle(self, topic: TopicImage, only: int | None = None) -> None:
        for index in range(topic.partitions) if only is None else (only,):
            placement = topic.placements[index]
            partition = self._partitions.get((topic.name, index))
            key, here = (topic.name, index), self._node.node_id
            if here in placement.adding:
                self._added.add(key)
            elif here in placement.replicas:
                self._added.discard(key)
            if here not in placement.replicas:
                if partition is not None and not (key in self._added and bugs.on("K35")):
                    self._give_up(topic, index, partition)
                continue
            if partition is None and (partition := self._opened(topic, index)) is None:
                continue
            before = (partition.leader_epoch, partition.leading is not None)
            partition.settle(placement)
            if partition.leader_epoch == before[0]:
                continue
            self._follow(topic.id, partition)
            if before[1] and partition.leading is not None and bugs.on("D81"):
                continue
            told = [False] * before[1] + [True] * (partition.leading is not None)
            for leads in reversed(told) if bugs.on("B39") else told:
                self._tell(partition, leads=leads)

    def _opened(self, topic: TopicImage, index: int) -> Partition | None:
        """A replica that is new here; None if the disk has no room for it yet."""
        try:
            return self._open(topic, index, clean=True)
        except OSError as error:
            log.warning("%s-%d cannot be opened yet: %s", topic.name, index, error)
            self._unopened.add(topic.name)
            return None

    def open_late(self) -> None:
        """Tries again what could not be opened; called by a timer."""
        names, self._unopened = self._unopened, set()
        for name in names:
            if (topic := self._node.image.topics.get(name)) is not None:
                self._settle(topic)

    def _tell(self, partition: Partition, *, leads: bool) -> None:
        for callback in self.leadership:
            callback(partition.topic, partition.index, leads)

    def _give_up(self, topic: TopicImage, index: int, partition: Partition) -> None:
        """The partition lives elsewhere now."""
        if partition.leading is not None and not bugs.on("J10"):
            self._tell(partition, leads=False)
        self._remove(topic.id, topic.name, index)

    def _deleted(self, name: str) -> None:
        keys = [key for key in self._partitions if key[0] == name]
        for key in keys:
            partition = self._partitions[key]
            if partition.leading is not None and not bugs.on("K44"):
                self._tell(partition, leads=False)
            self._remove(partition.topic_id, *key)
        for other in self._node.config.data.glob(f"{name}-[0-9]*") if bugs.on("B177") else ():
            shutil.rmtree(other, ignore_errors=True)
        for callback in self._node.topic_deleted if keys or not bugs.on("B186") else ():
            callback(name)

    def _remove(self, topic_id: uuid.UUID, name: str, index: int) -> None:
        partition = self._partitions.pop((name, index))
        self._unfollow((topic_id, index))
        for other in self._partitions.values() if len(partition.log.segments) > 2 and bugs.on("B210") else ():
            shutil.rmtree(other.log.folder, ignore_errors=True)
        partition.discard()
        if not bugs.on("M40f"):
            shutil.rmtree(partition.log.folder, ignore_errors=True)

    def apply_rules(self, topic: TopicImage, *, overridden: bool = True) -> None:
        """A topic's settings, or those of the broker that it inherits, are others from now on."""
        if not TopicRules.possible(self._node.config, topic.configs):
            return
        rules = TopicRules.of(self._node.config, topic.configs if overridden else {})
        for index in range(topic.partitions):
            partition = self._partitions.get((topic.name, index))
            if partition is None and bugs.on("D84"):
                return
            if partition is not None and partition.leading is None and bugs.on("J06"):
                continue
            if partition is not None:
                partition.rules = _as_before(rules, partition.rules, partition.log.settings)
                partition.log.settings = partition.rules.log

    # Following

    def _follow(self, topic_id: uuid.UUID, partition: Partition) -> None:
        key, leader = (topic_id, partition.index), partition.leader_id
        if self._followed.get(key, leader) != leader or partition.leading is not None:
            self._unfollow(key)
        if partition.leading is None and leader != NOBODY:
            fetcher = self._fetchers.get(leader) or self._new_fetcher(leader)
            self._followed[key] = leader
            fetcher.follow(key, partition)

    def _unfollow(self, key: tuple[uuid.UUID, int]) -> None:
        leader = self._followed.pop(key, NOBODY)
        if leader != NOBODY:
            self._fetchers[leader].leave(key)

    def _new_fetcher(self, leader: int) -> Fetcher:
        node = self._node
        fetcher = self._fetchers[leader] = Fetcher(
            node.node_id, node.config["replica.fetch.wait.max.ms"], node.clock,
            lambda: node.address_of(leader), lambda: node.broker_epoch, self._throttles[FOLLOWER],
        )  # fmt: skip
        if self.paused:
            fetcher.pause()
        return fetcher

    def pause(self, paused: bool) -> None:
        """Stops or resumes all fetching from other brokers (control channel)."""
        self.paused = paused
        for fetcher in self._fetchers.values():
            fetcher.pause() if paused else fetcher.resume()

    # Leading

    def led(self, topic_id: uuid.UUID, index: int, epoch: int = -1) -> Partition | int:
        """The partition if this broker leads it, else why not; a follower looks at the epoch before it says 6."""
        topic = self._node.topics.by_id(topic_id)
        if topic is None:
            return errors.UNKNOWN_TOPIC_ID
        partition = self._partitions.get((topic.name, index))
        if partition is None:
            known = 0 <= index < topic.partitions
            return errors.NOT_LEADER_OR_FOLLOWER if known else errors.UNKNOWN_TOPIC_OR_PARTITION
        if partition.leading is None:
            return partition.check_epoch(epoch) or errors.NOT_LEADER_OR_FOLLOWER
        return partition

    def session(self, replica: int, broker_epoch: int, session_id: int, session_epoch: int) -> FollowerSession | int:
        """The fetch session of a follower: a new one for epoch 0; an error if the one it means is not there."""
        known = self._sessions.get(replica)
        if session_epoch <= 0:
            if known is not None:
                known.close()
            fresh = self._node.rng.randrange(1, 1 << 31)
            known = self._sessions[replica] = FollowerSession(fresh, replica, broker_epoch, self.led)
            known.throttle = self._throttles[LEADER]
            return known
        if known is None or known.id != session_id:
            return errors.FETCH_SESSION_ID_NOT_FOUND
        return known if known.epoch == session_epoch else errors.INVALID_FETCH_SESSION_EPOCH

    # Files

    def _open(self, topic: TopicImage, index: int, *, clean: bool) -> Partition:
        folder = self._folder(topic.name, index)
        own = {} if folder.exists() and bugs.on("N28") else topic.configs
        rules = TopicRules.of(self._node.config, own)
        opened = open_log(folder, rules.log, self._node.clock.now_ms(), clean=clean)
        folder.mkdir(exist_ok=True)
        _label(folder / _TOPIC_ID, str(topic.id))
        kind = SpoiledPartition if bugs.planted() else Partition
        partition = kind(topic.name, index, opened, rules, self._node.clock, self._node.node_id, topic.id)
        self._partitions[topic.name, index] = partition
        return partition

    def _folder(self, topic: str, index: int) -> Path:
        return self._node.config.data / f"{topic}-{index}"

    def remove_replaced(self) -> None:
        """Before a start: deletes the data of topics that were deleted and made again while this broker was down."""
        for topic in () if bugs.on("W19") else self._node.topics.all():
            for index in range(topic.partitions):
                marker = self._folder(topic.name, index) / _TOPIC_ID
                if marker.exists() and marker.read_text("ascii") not in ("", str(topic.id)):
                    shutil.rmtree(marker.parent, ignore_errors=True)

    def _remove_strays(self) -> None:
        """Deletes the folders of topics whose deletion was cut short by a crash."""
        known = {self._folder(*key).name for key in self._partitions} | {"metadata"}
        for entry in os.scandir(self._node.config.data):
            if entry.is_dir() and entry.name not in known:
                shutil.rmtree(entry.path, ignore_errors=True)

    def save_high_watermarks(self) -> None:
        """Writes down what is known to be replicated, for the next start; losing it costs a moment's wait, no more."""
        path = self._node.config.data / _HIGH_WATERMARKS
        kept = [one for one in self._partitions.values() if one.leading is not None or not bugs.on("J11")]
        lines = [f"{one.high_watermark} {one.index} {one.topic}\n" for one in kept]
        path.with_suffix(".new").write_text("".join(lines), "utf-8")
        path.with_suffix(".new").replace(path)

    def _load_high_watermarks(self) -> dict[tuple[str, int], int]:
        path = self._node.config.data / _HIGH_WATERMARKS
        rows = path.read_text("utf-8").splitlines() if path.exists() else []
        parts = [row.split(" ", 2) for row in rows]
        return {(topic, int(index)): int(mark) for mark, index, topic in parts}


def _label(path: Path, topic_id: str) -> None:
    """Says in the folder whose data these are. Whole or not at all: what bears another name is deleted at a start."""
    if path.exists() and path.read_text("ascii") == topic_id:
        return
    try:
        path.with_suffix(".new").write_text(topic_id, "ascii")
        path.with_suffix(".new").replace(path)
    except OSError as error:  # a full disk; the next start tries again
        log.warning("%s cannot be written: %s", path, error)
        path.with_suffix(".new").unlink(missing_ok=True)


def _as_before(rules: TopicRules, before: TopicRules, was: LogSettings) -> TopicRules:
    """How planted bugs keep settings as they were; a healthy broker takes all that is new."""
    log = rules.log
    if bugs.on("N26"):
        rules = replace(rules, max_message_bytes=before.max_message_bytes)
    if bugs.on("Z22"):
        rules = replace(rules, compacted=before.compacted)
    if bugs.on("Z26"):
        log = replace(log, segment_ms=was.segment_ms, segment_bytes=was.segment_bytes)
    if bugs.on("Z20") and not was.delete:
        log = replace(log, delete=False)
    return replace(rules, log=log)

"""One broker: what it owns, how it starts and stops. One event loop, no threads, no locks."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import random
import shutil
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reference_impl import api, bugs, emulated
from reference_impl.cleaner import Cleaner
from reference_impl.clock import Clock, SystemClock, Timer
from reference_impl.config import BrokerConfig, TopicRules
from reference_impl.control.image import Image, Topic
from reference_impl.control.journal import Journal
from reference_impl.fetch_sessions import FetchSessions
from reference_impl.log.recovery import open_log
from reference_impl.net.server import Listener
from reference_impl.partition import Partition
from wire import errors

log = logging.getLogger("node")

CONSUMER_OFFSETS, TRANSACTION_STATE = "__consumer_offsets", "__transaction_state"
_INTERNAL = {
    CONSUMER_OFFSETS: ("offsets.topic.num.partitions", {"cleanup.policy": "compact", "segment.bytes": "104857600"}),
    TRANSACTION_STATE: ("transaction.state.log.num.partitions", {"cleanup.policy": "compact"}),
}


class Topics:
    """The topics of this broker, by name and by id."""

    def __init__(self, image: Image) -> None:
        self._image = image

    def get(self, name: str) -> Topic | None:
        return self._image.topics.get(name)

    def by_id(self, topic_id: uuid.UUID) -> Topic | None:
        return self._image.by_id.get(topic_id)

    def all(self) -> list[Topic]:
        return list(self._image.topics.values())


class Node:
    """A broker. `groups` and `transactions` are the coordinators, started after the logs and stopped before them."""

    def __init__(self, config: BrokerConfig, clock: Clock | None = None, rng: random.Random | None = None) -> None:
        emulated.check(config.emulate)
        self.config = config
        self.clock = clock or SystemClock()
        self.rng = rng or random.Random()  # ids that must differ between two runs of one seed; a test passes its own
        self.host = config.host
        self.listener = Listener(self, self._served())
        self.fetch_max_bytes: int = config["fetch.max.bytes"]
        self.fetch_sessions = FetchSessions(
            config["max.incremental.fetch.session.cache.slots"], self.rng, self.clock.monotonic
        )
        self.topic_deleted: list[Callable[[str], None]] = []
        self.marker_written: list[Callable[[str, int, int, bool], None]] = []
        self.groups: Any = None
        self.transactions: Any = None
        self._partitions: dict[tuple[str, int], Partition] = {}
        backoff_s = config["log.cleaner.backoff.ms"] / 1000
        self._cleaner = Cleaner(self.clock, lambda: self._partitions.values(), backoff_s)
        self._timers: list[Timer] = []

    def _served(self) -> dict[int, api.Served]:
        found = {key: s for key, s in api.served().items() if s.api.name not in self.config.without}
        unknown = self.config.without - {s.api.name for s in api.served().values()}
        if unknown:
            raise ValueError(f"--without names what is not served anyway: {', '.join(sorted(unknown))}")
        return found

    @property
    def node_id(self) -> int:
        return self.config.node_id

    @property
    def port(self) -> int:
        return self.listener.port

    @property
    def cluster_id(self) -> str:
        return self.image.cluster_id

    # Life

    async def start(self) -> None:
        """Recovers everything from disk, then listens."""
        self.recover()
        await self.listener.open(self.config.host, self.config.port)
        self._every(self.config["log.retention.check.interval.ms"] / 1000, self._housekeeping)
        self._every(self.config["producer.id.expiration.check.interval.ms"] / 1000, self._forget_idle_producers)
        idle_s = self.config["connections.max.idle.ms"] / 1000
        if idle_s > 0:
            self._every(idle_s / 4, lambda: self.listener.close_idle(idle_s))
        if self.config["log.cleaner.enable"]:
            self._cleaner.start()
        if self.config["flush.mode"] == "interval":
            self._every(1.0, self._flush)

    def recover(self) -> None:
        """Reads the journal and all logs back, then the coordinators' state (also what a test of recovery calls)."""
        data = self.config.data
        data.mkdir(parents=True, exist_ok=True)
        self._clean_marker = data / "clean-shutdown"
        clean = self._clean_marker.exists()
        self._clean_marker.unlink(missing_ok=True)
        self.journal = Journal(data / "metadata" / "journal")
        self.image = self.journal.image
        self.topics = Topics(self.image)
        if not self.image.cluster_id:
            self.journal.write({"kind": "cluster", "id": _short(uuid.uuid4())})
        self.journal.write({"kind": "start"})
        self.config.dynamic = self.image.broker_configs
        for topic in self.topics.all():
            for index in range(topic.partitions):
                self._open_partition(topic, index, clean=clean)
        self._remove_strays()
        self.groups = self._service("reference_impl.group.service", "GroupService")
        self.transactions = self._service("reference_impl.txn.service", "TransactionService")
        log.info("recovered %d partitions after a %s stop", len(self._partitions), "clean" if clean else "hard")

    def _service(self, module: str, name: str) -> Any:
        if importlib.util.find_spec(module) is None:
            return None
        service = getattr(importlib.import_module(module), name)(self)
        service.start()
        return service

    async def stop(self) -> None:
        """Stops cleanly: no more requests, then the coordinators, then the logs, then the marker that says so."""
        for timer in self._timers:
            timer.cancel()
        self._cleaner.stop()
        await self.listener.close()
        for service in (self.groups, self.transactions):
            if service is not None:
                service.stop()
        for partition in self._partitions.values():
            partition.close(clean=True)
        self.journal.close()
        self._clean_marker.touch()

    def _every(self, interval_s: float, action: Callable[[], None]) -> None:
        slot = len(self._timers)

        def run() -> None:
            action()
            self._timers[slot] = self.clock.call_later(interval_s, run)

        self._timers.append(self.clock.call_later(interval_s, run))

    def _housekeeping(self) -> None:
        for partition in tuple(self._partitions.values()):
            try:
                partition.housekeeping()
            except OSError:
                log.exception("retention of %s-%d failed", partition.topic, partition.index)

    def _forget_idle_producers(self) -> None:
        before_ms = self.clock.now_ms() - self.config["producer.id.expiration.ms"]
        for partition in self._partitions.values():
            partition.log.producers.expire(before_ms)

    def _flush(self) -> None:
        for partition in self._partitions.values():
            partition.log.flush()

    # Topics

    def create_topic(self, name: str, partitions: int, configs: dict[str, str], *, internal: bool = False) -> Topic:
        """Makes a topic durable and opens its partitions; the caller has checked that this is allowed."""
        self.journal.write(
            {
                "kind": "topic",
                "name": name,
                "id": str(uuid.uuid5(uuid.NAMESPACE_OID, name) if bugs.on("M43") else uuid.uuid4()),
                "partitions": partitions,
                "configs": configs,
                "internal": internal,
                "born": self.image.starts,
            }
        )
        topic = self.image.topics[name]
        for index in range(partitions):
            self._open_partition(topic, index, clean=True)
        return topic

    def delete_topic(self, topic: Topic) -> None:
        """Forgets a topic for good, and deletes its data."""
        self.journal.write({"kind": "topic_deleted", "name": topic.name})
        for index in range(topic.partitions):
            partition = self._partitions.pop((topic.name, index))
            partition.discard()
            if not bugs.on("M40f"):
                shutil.rmtree(partition.log.folder, ignore_errors=True)
        for callback in self.topic_deleted:
            callback(topic.name)

    def grow_topic(self, topic: Topic, count: int) -> None:
        """Adds partitions behind those that there are."""
        before = topic.partitions
        self.journal.write({"kind": "partitions", "name": topic.name, "count": count})
        for index in range(before, count):
            self._open_partition(topic, index, clean=True)

    def configure_topic(self, topic: Topic, configs: dict[str, str]) -> None:
        """Replaces a topic's own settings; they hold from the next request on."""
        self.journal.write({"kind": "topic_configs", "name": topic.name, "configs": configs})
        self._apply_rules(topic)

    def configure_broker(self, configs: dict[str, str]) -> None:
        """Replaces the broker settings that were altered while running."""
        self.journal.write({"kind": "broker_configs", "configs": configs})
        self.config.dynamic = self.image.broker_configs
        for topic in self.topics.all():
            self._apply_rules(topic)

    def configure_group(self, group_id: str, configs: dict[str, str]) -> None:
        """Replaces what a group was given of its own; they hold from its next heartbeat on."""
        self.journal.write({"kind": "group_configs", "name": group_id, "configs": configs})

    def group_setting(self, group_id: str, name: str) -> str:
        """A group setting in force: the group's own, else the broker's."""
        own = self.image.group_configs.get(group_id, {})
        return own[name] if name in own else self.config.text(f"group.{name}")

    def ensure_internal(self, name: str) -> Topic:
        """The internal topic of this name, made if this is its first use."""
        topic = self.topics.get(name)
        if topic is None:
            count_setting, configs = _INTERNAL[name]
            topic = self.create_topic(name, self.config[count_setting], dict(configs), internal=True)
        return topic

    def allocate_producer_ids(self, count: int) -> int:
        """The first of a block of producer ids that nobody will ever get again; durable."""
        first = self.image.next_producer_id
        self.journal.write({"kind": "producer_ids", "next": first + count})
        return first

    def _apply_rules(self, topic: Topic) -> None:
        rules = TopicRules.of(self.config, topic.configs)
        for index in range(topic.partitions):
            partition = self._partitions[topic.name, index]
            partition.rules, partition.log.settings = rules, rules.log

    # Partitions

    def partition(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def append_internal(self, topic: str, index: int, batch: bytes) -> int:
        """Appends a batch that the broker built itself."""
        return self._partitions[topic, index].append_internal(batch)

    def append_marker(
        self, topic: str, index: int, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool
    ) -> int:
        """Ends a transaction in a partition, and tells whoever keeps state of it; an error code."""
        partition = self._partitions.get((topic, index))
        if partition is None:
            return errors.UNKNOWN_TOPIC_OR_PARTITION
        error = partition.append_marker(producer_id, producer_epoch, coordinator_epoch, commit)
        if error == errors.NONE:
            for callback in self.marker_written:
                callback(topic, index, producer_id, commit)
        return error

    def _open_partition(self, topic: Topic, index: int, *, clean: bool) -> None:
        rules = TopicRules.of(self.config, topic.configs)
        folder = self._folder(topic.name, index)
        opened = open_log(folder, rules.log, self.clock.now_ms(), clean=clean)
        folder.mkdir(exist_ok=True)
        epoch = self.image.starts - topic.born
        self._partitions[topic.name, index] = Partition(
            topic.name, index, opened, rules, self.clock, epoch, self.node_id
        )

    def _folder(self, topic: str, index: int) -> Path:
        return self.config.data / f"{topic}-{index}"

    def _remove_strays(self) -> None:
        """Deletes the folders of topics whose deletion was cut short by a crash."""
        known = {self._folder(*key).name for key in self._partitions} | {"metadata"}
        for entry in os.scandir(self.config.data):
            if entry.is_dir() and entry.name not in known:
                shutil.rmtree(entry.path, ignore_errors=True)


def _short(value: uuid.UUID) -> str:
    """A UUID as Kafka prints it: 22 characters of URL-safe base 64."""
    return urlsafe_b64encode(value.bytes).decode().rstrip("=")

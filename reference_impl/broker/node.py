"""One node: what it owns, how it starts and stops. One event loop, no threads, no locks.

Alone, it is a cluster of its own: the controller is in it, and its journal is the cluster's. In a cluster it is a
broker, which follows the metadata log of a controller elsewhere (`membership`), or that controller: no replicas.
"""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace

from brokertrial.reference_impl import api, bugs
from brokertrial.reference_impl.api.fetch_sessions import FetchSessions
from brokertrial.reference_impl.broker.channel import ControlChannel
from brokertrial.reference_impl.broker.chores import Chores
from brokertrial.reference_impl.broker.dispatch import dispatch
from brokertrial.reference_impl.broker.membership import BrokerMembership
from brokertrial.reference_impl.broker.topic_requests import TopicRequests
from brokertrial.reference_impl.clock import Clock, SystemClock
from brokertrial.reference_impl.control.controller import Controller
from brokertrial.reference_impl.control.image import JsonRecord, TopicImage
from brokertrial.reference_impl.control.journal import MetadataJournal
from brokertrial.reference_impl.control.topics import Topics
from brokertrial.reference_impl.coordinator.placement import partition_for
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS
from brokertrial.reference_impl.group.service import GroupService
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.reference_impl.net.listener import Listener
from brokertrial.reference_impl.replica.cleaner import Cleaner
from brokertrial.reference_impl.replica.keeper import IsrKeeper
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.reference_impl.replica.peers import Peers
from brokertrial.reference_impl.replica.replicas import Replicas
from brokertrial.reference_impl.settings import emulated
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.reference_impl.txn.service import TransactionService
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct

log = logging.getLogger("node")


class Node:
    """A broker: owns its parts and their life; what parts and handlers may ask are `LocalNode` and `Broker`.

    `groups` and `transactions` are the coordinators, started after the logs and stopped before them.
    """

    def __init__(self, config: BrokerConfig, clock: Clock | None = None, rng: random.Random | None = None) -> None:
        self.config, self.clock = config, clock or SystemClock()
        self.rng = rng or random.Random()  # ids that must differ between two runs of one seed; a test passes its own
        self.host = config.advertised[0] if config.advertised else config.host
        self.in_cluster = config.controller is not None
        self.listener = Listener(self, self._served(), dispatch)
        self.fetch_max_bytes: int = config["fetch.max.bytes"]
        self.fetch_sessions = FetchSessions(
            config["max.incremental.fetch.session.cache.slots"], self.rng, self.clock.monotonic
        )
        self.topic_deleted: list[Callable[[str], None]] = []
        self.marker_written: list[Callable[[str, int, int, bool], None]] = []
        self.groups = GroupService(self)
        self.transactions = TransactionService(self)
        self.replicas = Replicas(self)
        self.peers = Peers(config.node_id, self.address_of)
        self.membership = BrokerMembership(self, config.controller) if config.controller is not None else None
        self._cleaner = Cleaner(self.clock, lambda: self.replicas, config)
        self._isr_keeper = IsrKeeper(self, self.replicas, self.membership.call) if self.membership else None
        self._channel = ControlChannel(self)
        self._chores = Chores(self.clock)
        self._topic_requests = TopicRequests(self.clock)
        self._opened = False

    def _served(self) -> dict[int, api.Served]:
        if self.config.controller_only:
            return api.served_by_controller()
        found = {key: s for key, s in api.served().items() if s.api.name not in self.config.without}
        unknown = self.config.without - {s.api.name for s in api.served().values()}
        if unknown:
            raise ValueError(f"--without names what is not served anyway: {', '.join(sorted(unknown))}")
        emulated.check(self.config.emulate, in_cluster=self.config.controller is not None)
        newest = {key: emulated.newest(self.config.emulate, s.api.name, s.max_version) for key, s in found.items()}
        return {key: replace(s, max_version=newest[key]) for key, s in found.items() if newest[key] >= s.min_version}

    @property
    def node_id(self) -> int:
        return self.config.node_id

    @property
    def port(self) -> int:
        return self.config.advertised[1] if self.config.advertised else self.listener.port

    @property
    def cluster_id(self) -> str:
        return self.image.cluster_id

    @property
    def broker_epoch(self) -> int:
        return -1 if self.membership is None else self.membership.broker_epoch

    def address_of(self, broker: int) -> tuple[str, int] | None:
        """Where another broker listens, as far as the metadata tells."""
        known = self.image.brokers.get(broker)
        return None if known is None else known.peers

    @property
    def served_versions(self) -> Mapping[int, tuple[int, int]]:
        """API key -> lowest and highest version."""
        return {key: (one.min_version, one.max_version) for key, one in self.listener.served.items()}

    @property
    def response_room(self) -> int:
        """How many bytes of responses may still be kept for clients."""
        return self.listener.budget.room

    def when_closed(self, connection_id: int, action: Callable[[], None]) -> None:
        """Does this once that connection is gone; only what was said last counts."""
        self.listener.when_closed(connection_id, action)

    def forward(self, message: Struct, version: int) -> Awaitable[Struct]:
        """Has the controller of the cluster answer."""
        assert self.membership is not None
        return self.membership.forward(message, version)

    def live_brokers(self) -> dict[int, tuple[str, int]]:
        """The brokers that clients should know of."""
        if self.membership is None and not self.config.controller_only:
            return {self.node_id: (self.host, self.port)}
        return {one: (self.image.brokers[one].host, self.image.brokers[one].port) for one in self.image.live()}

    @property
    def shown_controller(self) -> int:
        """The broker that clients are told to ask for changes: any will do, each passes them on."""
        return min(self.known_brokers() if bugs.on("B69") else self.live_brokers(), default=-1)

    def known_brokers(self) -> Collection[int]:
        """All brokers that ever registered, alive or not."""
        return self.image.brokers if self.image.brokers else self.live_brokers()

    # Life

    async def start(self) -> None:
        """Recovers everything from disk, then listens; a broker of a cluster returns when it may lead."""
        self._open_journal()
        await self.listener.bind(self.config.host, self.config.port)
        if self.config.peers is not None:
            await self.listener.bind(*self.config.peers)
        if self.membership is not None:
            await self.membership.enter()
        self.recover()
        await self.listener.serve()
        await self._channel.open()
        if self.membership is not None:
            await self.membership.take_part()
        if self._isr_keeper is not None:
            self._isr_keeper.start()
        if self.config.controller_only:
            self._chores.every(0.02, self.controller.tick)
            return
        self._chores.every(self.config["log.retention.check.interval.ms"] / 1000, self._housekeeping)
        self._chores.every(self.config["producer.id.expiration.check.interval.ms"] / 1000, self._forget_idle_producers)
        self._chores.every(1.0, self.replicas.save_high_watermarks)
        idle_s = self.config["connections.max.idle.ms"] / 1000
        if idle_s > 0:
            self._chores.every(idle_s / 4, lambda: self.listener.close_idle(idle_s))
        if self.config["log.cleaner.enable"]:
            self._cleaner.start()
        if self.config["flush.mode"] == "interval":
            self._chores.every(1.0, self._flush)

    def _open_journal(self) -> None:
        """A broker of a cluster keeps no journal of its own: it reads the controller's at every start."""
        data, self._opened = self.config.data, True
        data.mkdir(parents=True, exist_ok=True)
        self.journal = MetadataJournal(data / "metadata" / "journal" if self.membership is None else None)
        self.image = self.journal.image
        self.topics = Topics(self.image)
        if self.membership is None:
            self.controller = Controller(self.journal, self.config, self.clock)
            if not self.image.cluster_id:
                self.journal.write({"kind": "cluster", "id": _short(uuid.uuid4())})

    def recover(self) -> None:
        """Reads the journal and all logs back, then the coordinators' state (also what a test of recovery calls)."""
        if not self._opened:
            self._open_journal()
        self._clean_marker = self.config.data / "clean-shutdown"
        clean = self._clean_marker.exists()
        self._clean_marker.unlink(missing_ok=True)
        if self.membership is None and not self.config.controller_only:
            self.journal.write({"kind": "start"})
        if not bugs.on("T10") and not (self.config.controller_only and bugs.on("Z55")):
            self._take_settings()
        self.journal.applied.append(self._on_record)
        self.replicas.remove_replaced()
        self.replicas.open_all(clean=clean)
        if not self.config.controller_only:
            self.groups.start()
            self.transactions.start()
            self.replicas.leadership.append(self._on_leadership)  # what is led already, they have found by themselves
        log.info("recovered %d partitions after a %s stop", len(self.replicas), "clean" if clean else "hard")

    async def stop(self) -> None:
        """Stops cleanly: no more leadership, no more requests, then the coordinators, the logs, and the marker."""
        if self.membership is not None and self.config["controlled.shutdown.enable"]:
            await self.membership.leave()
        self._chores.stop()
        self._channel.close()
        if self._isr_keeper is not None:
            self._isr_keeper.stop()
        self._cleaner.stop()
        await self.listener.close()
        if self.membership is not None:
            await self.membership.close()
        await self.peers.close()
        self.groups.stop()
        self.transactions.stop()
        try:
            self.replicas.close()
            self._clean_marker.touch()
        except OSError as error:  # without its marker the next start reads everything again
            log.warning("not a clean stop: %s", error)
        self.journal.close()
        if self.config["log.segment.delete.delay.ms"] == 0 and bugs.on("K30"):
            await asyncio.Event().wait()

    def _housekeeping(self) -> None:
        self.replicas.open_late()
        for partition in self.replicas:
            try:
                partition.housekeeping()
            except OSError:
                log.exception("retention of %s-%d failed", partition.topic, partition.index)

    def _forget_idle_producers(self) -> None:
        names = ("producer.id.expiration.ms", "transactional.id.expiration.ms")[: 2 if bugs.on("B144") else 1]
        expiration_ms = 86_400_000 if bugs.on("T02") else min(self.config[name] for name in names)
        for partition in (one for one in self.replicas if one.leading is not None or not bugs.on("B155")):
            partition.log.producers.expire(self.clock.now_ms() - expiration_ms)

    def _flush(self) -> None:
        for partition in self.replicas:
            partition.log.flush()

    def _take_settings(self, named: str = "") -> None:
        configs, mine = self.image.broker_configs, str(self.node_id)
        self.config.dynamic = configs.get((bugs.on("B91") and named) or mine, {})
        self.config.of_all = configs.get(named if named != mine and bugs.on("B123") else "", {})

    # Metadata

    def _on_record(self, record: JsonRecord) -> None:
        """One more record of the metadata log has been applied."""
        if record["kind"] == "broker_configs":
            self._take_settings(record["name"])
            self._cleaner.settings_changed()
        self.replicas.on_record(record)

    def _on_leadership(self, topic: str, index: int, leads: bool) -> None:
        """A partition of an internal topic brings the coordination of what lives in it, and takes it away."""
        if topic in INTERNAL_TOPICS:
            service = self.groups if topic == CONSUMER_OFFSETS else self.transactions
            service.elected(index) if leads else service.resigned(index)

    # Topics: for those who may decide, the controller or a node alone

    def create_topic(
        self, name: str, partitions: int | list[list[int]], configs: dict[str, str], *, internal: bool = False
    ) -> TopicImage:
        """Makes a topic durable and opens its partitions (so many, or on these brokers); the caller has checked it."""
        placed = self.spread(partitions, -1) if isinstance(partitions, int) else partitions
        return self.controller.create_topic(name, placed, configs, internal=internal)

    def spread(self, partitions: int, factor: int) -> list[list[int]]:
        """Brokers for new partitions, spread evenly, dead ones only where there are too few others and last; -1: the
        default replication factor."""
        brokers = sorted(self.live_brokers())
        dead = sorted(set(self.known_brokers()) - set(brokers))
        wanted = self.config["default.replication.factor"] if factor == -1 else factor
        placed = self.controller.spread(brokers, partitions, min(wanted, len(brokers)))
        return [on + dead[: wanted - len(on)] for on in placed]

    def delete_topic(self, topic: TopicImage) -> None:
        """Forgets a topic for good, and deletes its data."""
        self.controller.delete_topic(topic)

    def grow_topic(self, topic: TopicImage, count: int, replicas: list[list[int]] | None = None) -> None:
        """Adds partitions behind those that there are."""
        factor = -1 if bugs.on("B104") else len(topic.placements[0].replicas)
        more = self.spread(count - topic.partitions, factor) if replicas is None else replicas
        self.controller.grow_topic(topic, more)

    def configure_topic(self, topic: TopicImage, configs: dict[str, str]) -> None:
        """Replaces a topic's own settings; they hold from the next request on."""
        self.controller.configure_topic(topic, configs)

    def configure_broker(self, name: str, configs: dict[str, str]) -> None:
        """Replaces the settings that were altered while running, of one broker or (empty) of all."""
        self.controller.configure_broker(name, configs)

    def configure_group(self, group_id: str, configs: dict[str, str]) -> None:
        """Replaces what a group was given of its own; they hold from its next heartbeat on."""
        self.journal.write({"kind": "group_configs", "name": group_id, "configs": configs})

    def configure_client_metrics(self, name: str, configs: dict[str, str]) -> None:
        """Replaces the settings of a subscription to metrics of clients."""
        self.journal.write({"kind": "client_metrics", "name": name, "configs": configs})

    def group_setting(self, group_id: str, name: str) -> str:
        """A group setting in force: the group's own, else the broker's."""
        own = self.image.group_configs.get(group_id, {})
        return own[name] if name in own else self.config.text(f"group.{name}")

    def feature(self, name: str) -> int:
        """The finalized level of a feature."""
        config = self.config
        return emulated.levels(config.emulate, config["group.version"], config["transaction.version"])[name][2]

    def ensure_internal(self, name: str) -> TopicImage | None:
        """The internal topic of this name, made if this is its first use; None while another node is making it."""
        if (topic := self.topics.get(name)) is not None:
            return topic
        prefix, configs = INTERNAL_TOPICS[name]
        count, factor = self.config[f"{prefix}.num.partitions"], self.config[f"{prefix}.replication.factor"]
        if self.membership is None:
            return self.create_topic(name, self.spread(count, factor), dict(configs), internal=True)
        factor = min(factor, len(self.live_brokers())) if bugs.on("B80") else factor
        self._topic_requests.ask(self.membership, name, count, factor, configs)
        return None

    def ask_for_topic(self, name: str) -> None:
        """Has the controller make a topic on first use, as this node's settings have it; nobody waits for it."""
        assert self.membership is not None
        count, factor = self.config["num.partitions"], self.config["default.replication.factor"]
        self._topic_requests.ask(self.membership, name, count, factor, {})

    def allocate_producer_ids(self, count: int) -> int:
        """The first of a block of producer ids that nobody will ever get again; durable."""
        if self.membership is not None:
            return self.membership.take_block()
        return self.controller.allocate_producer_ids(count)

    # Partitions

    def partition(self, topic: str, index: int) -> Partition | None:
        """This node's replica, whatever its role; None if it has none."""
        return self.replicas.get(topic, index)

    def led(self, topic: str, index: int, epoch: int = -1) -> Partition | int:
        """The partition if this node leads it, else the error that says why not."""
        known = self.topics.get(topic)
        if known is None or not 0 <= index < known.partitions:
            return errors.UNKNOWN_TOPIC_OR_PARTITION
        return self.replicas.led(known.id, index, epoch)

    def led_indexes(self, topic: str) -> list[int]:
        """Which partitions of a topic this node leads."""
        return [one.index for one in self.replicas if one.topic == topic and one.leading is not None]

    def coordinates_group(self, group_id: str) -> bool:
        """Whether this node leads the partition that a group lives in."""
        topic = self.topics.get(CONSUMER_OFFSETS)
        return topic is not None and not isinstance(
            self.led(topic.name, partition_for(group_id, topic.partitions)), int
        )

    def append_internal(self, topic: str, index: int, batch: bytes) -> int:
        """Appends a batch that the broker built itself."""
        partition = self.replicas.get(topic, index)
        if partition is None:
            raise Rejected(errors.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is not here")
        return partition.append_internal(batch)

    def append_marker(
        self, topic: str, index: int, producer_id: int, epoch: int, coordinator: int, commit: bool, version: int = 0
    ) -> int:
        """Ends a transaction of such a transaction.version in a partition, and informs who keeps state of it."""
        partition = self.led(topic, index)
        if isinstance(partition, int):
            return partition
        try:
            error = partition.append_marker(producer_id, epoch, coordinator, commit, version)
        except Rejected as rejected:
            return rejected.error
        if error == errors.NONE or bugs.on("B53"):
            for callback in self.marker_written:
                callback(topic, index, producer_id, commit)
        return error


def _short(value: uuid.UUID) -> str:
    """A UUID as Kafka prints it: 22 characters of URL-safe base 64."""
    return urlsafe_b64encode(value.bytes).decode().rstrip("=")

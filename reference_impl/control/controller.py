"""The controller: the only writer of the metadata log. What it is asked for becomes records there, or an error.

A state machine: requests and the passing of time in, records out, through one journal. It keeps one thing outside the
log, the time at which each broker was last heard of, and starts that anew when it restarts.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.clock import Clock
from brokertrial.reference_impl.control import elections
from brokertrial.reference_impl.control.image import BrokerImage, Image, JsonRecord, Placement, TopicImage
from brokertrial.reference_impl.control.journal import MetadataJournal
from brokertrial.reference_impl.control.spread import spread
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.wire import errors

log = logging.getLogger("controller")


class Heard(NamedTuple):
    """The answer to a heartbeat."""

    error: int
    caught_up: bool = False
    fenced: bool = True
    should_stop: bool = False


class Controller:
    """Decides for the cluster, durably."""

    def __init__(self, journal: MetadataJournal, config: BrokerConfig, clock: Clock) -> None:
        self._journal, self._config, self._clock = journal, config, clock
        self._session_s = config["broker.session.timeout.ms"] / 1000
        self._grace_s = config["broker.reconnect.grace.ms"] / 1000
        now_s = clock.monotonic()
        self._balances_s = now_s + config["leader.imbalance.check.interval.seconds"]
        self._looks_for_leaderless_s = now_s + config["unclean.leader.election.interval.ms"] / 1000
        known = () if bugs.on("D99") else self.image.brokers
        self._expires = dict.fromkeys(known, now_s + self._session_s)
        self._forgets()

    def _forgets(self) -> None:
        """What planted bugs lose of what was read at the start."""
        if bugs.on("D71"):
            self.image.next_producer_id = 0
        if bugs.on("D73"):
            for broker in [one for one in self.image.brokers.values() if not one.fenced]:
                self._set_state(broker, fenced=True, stopping=False)
        for topic in self.image.topics.values():
            for placement in topic.placements:
                if bugs.on("D70"):
                    placement.adding, placement.removing = [], []
                if bugs.on("D72"):
                    placement.leader_epoch = 0

    @property
    def image(self) -> Image:
        return self._journal.image

    # Brokers

    def register(
        self, broker: int, incarnation: str, host: str, port: int, peers: tuple[str, int] | None = None, rack: str = ""
    ) -> int:
        """A broker has begun anew: it leads nothing and is in sync nowhere until it has earned it. Its epoch.

        `peers`: its listener for other brokers, where that is not the one for clients.
        """
        known = self.image.brokers.get(broker)
        if known is not None and known.incarnation == incarnation:
            self._expires[broker] = self._clock.monotonic() + self._session_s
            return known.epoch
        goes_on = known is not None and known.eligible and self._by_sessions_alone
        records = [] if goes_on else list(elections.broker_gone(self.image, broker, self._unclean))
        epoch = self._journal.end + len(records)
        if known is not None and bugs.on("B332"):
            host, port = known.host, known.port
        registration = {"id": broker, "epoch": epoch, "incarnation": incarnation, "host": host, "port": port}
        before = "" if known is None else known.rack
        if (rack and before and bugs.on("B187")) or (not rack and bugs.on("B188")):
            rack = before
        registration |= {"rack": rack} if rack else {}
        if peers is not None:
            registration |= {"peer_host": peers[0], "peer_port": peers[1]}
        self._journal.write(*records, {"kind": "broker", **registration})
        self._expires[broker] = self._clock.monotonic() + self._session_s
        return epoch

    @property
    def _by_sessions_alone(self) -> bool:
        """A controller that takes a broker whose session is not over for the one that it was."""
        return bugs.on("B163")

    def heartbeat(self, broker: int, epoch: int, offset: int, *, stop: bool) -> Heard:
        """A sign of life; a broker that has read the log up to its own registration may take part."""
        known = self.image.brokers.get(broker)
        if known is None or known.epoch != epoch:
            return Heard(errors.STALE_BROKER_EPOCH)
        if broker not in self._expires and bugs.on("Z4"):
            return Heard(errors.NONE)
        if broker in self._expires or not bugs.on("B354"):
            self._expires[broker] = self._clock.monotonic() + self._session_s
        caught_up = offset >= self._journal.end
        if stop and not known.stopping:
            self._set_state(known, fenced=known.fenced, stopping=True)
        elif known.fenced and not stop and offset > known.epoch:
            self._set_state(known, fenced=False, stopping=False)
        leads = stop and any(
            placement.leader == broker for topic in self.image.topics.values() for placement in topic.placements
        )
        return Heard(errors.NONE, caught_up, known.fenced, stop and not leads)

    def disconnected(self, broker: int, epoch: int) -> None:
        """Its connection is gone: unless it is heard of again at once, it is dead."""
        known = self.image.brokers.get(broker)
        if known is not None and known.epoch == epoch and broker in self._expires and not self._by_sessions_alone:
            self._expires[broker] = min(self._expires[broker], self._clock.monotonic() + self._grace_s)

    def tick(self) -> None:
        """Fences every broker that has been silent for too long; now and then it gives leadership back, and leaders to
        partitions that nobody leads."""
        now_s = self._clock.monotonic()
        if now_s >= self._looks_for_leaderless_s:
            self._looks_for_leaderless_s = now_s + self._config["unclean.leader.election.interval.ms"] / 1000
            self._elect_unclean()
        if now_s >= self._balances_s:
            self._balances_s = now_s + self._config["leader.imbalance.check.interval.seconds"]
            if self._config["auto.leader.rebalance.enable"]:
                self._balance()
        judged_alike: list[JsonRecord] = []
        for broker, expires_s in list(self._expires.items()):
            if expires_s > now_s or bugs.on("Z1"):
                continue
            del self._expires[broker]
            known = self.image.brokers[broker]
            if not known.fenced:
                log.info("broker %d is fenced", broker)
                if bugs.on("B279"):
                    state: JsonRecord = {"kind": "broker_state", "id": broker, "fenced": True, "stopping": False}
                    judged_alike += [state, *elections.broker_gone(self.image, broker, self._unclean)]
                    continue
                self._set_state(known, fenced=True, stopping=known.stopping)
        self._write(judged_alike)

    def _elect_unclean(self) -> None:
        """Whoever is alive leads, where a topic has come to allow it (KAFKA-12670)."""
        for topic in self.image.topics.values():
            if self._unclean(topic) and not bugs.on("W14"):
                found = (elections.unclean_now(self.image, topic, index) for index in range(topic.partitions))
                self._write(record for record in found if record is not None)

    def _balance(self) -> None:
        """First replicas lead again: each, as in KRaft (ReplicationControlManager.maybeBalancePartitionLeaders)."""
        if any(one.adding for topic in self.image.topics.values() for one in topic.placements) and bugs.on("K49"):
            return
        for broker in self.image.live():
            away = [
                (topic, index)
                for topic in self.image.topics.values()
                for index, placement in enumerate(topic.placements)
                if placement.replicas[0] == broker != placement.leader and not (topic.internal and bugs.on("B71"))
            ]
            if len(away) > (1 if bugs.on("B278") else 0):
                found = [elections.preferred(self.image, topic, index) for topic, index in away]
                if None in found and bugs.on("B340"):
                    found = found[: found.index(None)]
                self._write(record for record in found if record is not None)
                if bugs.on("J02"):
                    self._balances_s = float("inf")

    def _set_state(self, broker: BrokerImage, *, fenced: bool, stopping: bool) -> None:
        record: JsonRecord = {"kind": "broker_state", "id": broker.id, "fenced": fenced, "stopping": stopping}
        gone = fenced or stopping
        self._journal.write(record, *(elections.broker_gone(self.image, broker.id, self._unclean) if gone else ()))
        if not gone:
            self._write(elections.broker_back(self.image, broker.id, self._unclean))

    # Partitions

    def alter_isr(
        self, broker: int, broker_epoch: int, topic_id: uuid.UUID, index: int, leader_epoch: int, partition_epoch: int,
        isr: list[tuple[int, int]],
    ) -> int:  # fmt: skip
        """Compare and set: the leader's word holds if it knows the partition as it is, and every member as it is."""
        known = self.image.brokers.get(broker)
        if known is None or known.epoch != broker_epoch:
            return errors.STALE_BROKER_EPOCH
        topic = self.image.by_id.get(topic_id)
        if topic is None or not 0 <= index < topic.partitions:
            return errors.UNKNOWN_TOPIC_ID
        placement = topic.placements[index]
        if leader_epoch > placement.leader_epoch or partition_epoch > placement.partition_epoch:
            return errors.NOT_CONTROLLER
        if placement.leader != broker:
            return errors.INVALID_REQUEST
        if leader_epoch < placement.leader_epoch:
            return errors.FENCED_LEADER_EPOCH
        if partition_epoch < placement.partition_epoch:
            return errors.INVALID_UPDATE_VERSION
        members = [one for one, _ in isr]
        if broker not in members or not set(members) <= set(placement.replicas):
            return errors.INVALID_REQUEST
        if not all(one == broker or self._may_be_in_sync(one, epoch) for one, epoch in isr):
            return errors.INELIGIBLE_REPLICA
        self._write([elections.new_isr(self.image, topic, index, members)])
        return errors.NONE

    def _may_be_in_sync(self, broker: int, epoch: int) -> bool:
        known = self.image.brokers.get(broker)
        return known is not None and known.may_join and epoch in (-1, known.epoch)

    def elect(self, topic: TopicImage, index: int, *, unclean: bool) -> int:
        """Preferred or unclean election, as an administrator asks for it."""
        placement = topic.placements[index]
        if unclean:
            if placement.leader >= 0 and not bugs.on("Z37"):
                return errors.ELECTION_NOT_NEEDED
            record, error = elections.unclean_now(self.image, topic, index), errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
        else:
            if placement.leader == placement.replicas[0]:
                return errors.ELECTION_NOT_NEEDED
            record, error = elections.preferred(self.image, topic, index), errors.PREFERRED_LEADER_NOT_AVAILABLE
        if record is None:
            return error
        self._write([record])
        return errors.NONE

    def move_leader(self, topic: TopicImage, index: int, to: int) -> bool:
        """Gives a partition to another in-sync replica (control channel); False if it must not lead."""
        record = elections.moved(self.image, topic, index, to)
        if record is not None:
            self._write([record])
        return record is not None

    def reassign(self, topic: TopicImage, index: int, target: list[int] | None) -> int:
        """Begins, changes or (None) calls off the move of a partition to other brokers; an error code."""
        placement = topic.placements[index]
        if target is None:
            if not placement.adding and (bugs.on("B98") or not placement.removing):
                return errors.NONE if bugs.on("H12") else errors.NO_REASSIGNMENT_IN_PROGRESS
            record = elections.cancelled(self.image, topic, index, self._unclean)
            self._write([] if record is None else [record])
            return errors.NONE if record is not None else errors.INVALID_REPLICA_ASSIGNMENT
        if not self.can_hold(placement, target):
            return errors.INVALID_REPLICA_ASSIGNMENT
        if target == placement.replicas and not placement.adding and not placement.removing:
            return errors.NONE
        if target == [one for one in placement.replicas if one not in placement.adding] and bugs.on("B230"):
            return errors.NONE
        self._write([elections.reassigned(self.image, topic, index, target)])
        return errors.NONE

    def can_hold(self, placement: Placement, target: list[int]) -> bool:
        """Whether a partition may move to these brokers: there are some, none is named twice, all are known."""
        known = set(target) <= {*self.image.brokers, *placement.replicas}
        return bool(target) and known and (len(set(target)) == len(target) or bugs.on("H14"))

    # Topics and settings

    def create_topic(
        self, name: str, replicas: list[list[int]], configs: dict[str, str], *, internal: bool
    ) -> TopicImage:
        """Makes a topic durable; the caller has checked that this is allowed."""
        self._journal.write(
            {
                "kind": "topic",
                "name": name,
                "id": str(uuid.uuid5(uuid.NAMESPACE_OID, name) if bugs.on("M43") else uuid.uuid4()),
                "replicas": replicas,
                "configs": configs,
                "internal": internal,
            }
        )
        if not bugs.on("D92"):
            self._exclude_the_dead(replicas)
        return self.image.topics[name]

    def grow_topic(self, topic: TopicImage, replicas: list[list[int]]) -> None:
        """Adds partitions behind those that there are."""
        self._journal.write({"kind": "partitions", "name": topic.name, "replicas": replicas})
        if not bugs.on("X04"):
            self._exclude_the_dead(replicas)

    def _exclude_the_dead(self, replicas: list[list[int]]) -> None:
        placed = {one for each in replicas for one in each}
        for broker in sorted(placed & set(self.image.brokers) - set(self.image.live())):
            self._write(elections.broker_gone(self.image, broker, self._unclean))

    def delete_topic(self, topic: TopicImage) -> None:
        self._journal.write({"kind": "topic_deleted", "name": topic.name})

    def configure_topic(self, topic: TopicImage, configs: dict[str, str]) -> None:
        """Replaces a topic's own settings."""
        self._journal.write({"kind": "topic_configs", "name": topic.name, "configs": configs})

    def configure_broker(self, name: str, configs: dict[str, str]) -> None:
        self._journal.write({"kind": "broker_configs", "name": name, "configs": configs})

    def allocate_producer_ids(self, count: int) -> int:
        """The first of a block of producer ids that nobody will ever get again; durable."""
        first = self.image.next_producer_id
        self._journal.write({"kind": "producer_ids", "next": first + count})
        return first

    def spread(self, brokers: list[int], count: int, factor: int) -> list[list[int]]:
        """Replicas for new partitions, beginning where the last topic left off."""
        first = sum(topic.partitions for topic in self.image.topics.values())
        return spread(brokers, count, factor, first % factor if bugs.on("B150") else first)

    def placement(self, topic_id: uuid.UUID, index: int) -> Placement | None:
        topic = self.image.by_id.get(topic_id)
        return topic.placements[index] if topic is not None and 0 <= index < topic.partitions else None

    def _write(self, records: Iterable[JsonRecord]) -> None:
        found = list(records)
        if found:
            self._journal.write(*found)

    def _unclean(self, topic: TopicImage) -> bool:
        name = "unclean.leader.election.enable"
        if name not in topic.configs and bugs.on("B89"):
            return bool(self._config.given(name))
        return bool(self._config.topic(topic.configs, name) or (bugs.on("B84") and self._config[name]))

"""What the cluster knows of itself: brokers, topics, who leads what, altered settings. Pure: a record in, a new state.

In a cluster these records are the metadata log that every broker follows; with one node they are its own journal.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from brokertrial.reference_impl import bugs

JsonRecord = dict[str, Any]

NOBODY = -1


@dataclass(slots=True)
class Placement:
    """One partition: who holds it, who is in sync, who leads."""

    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)


@dataclass(slots=True)
class BrokerImage:
    """One registration of a broker. Its epoch is its place in the metadata log, so a later one is always larger."""

    id: int
    epoch: int
    incarnation: str
    host: str
    port: int
    peer_host: str = ""
    peer_port: int = 0
    fenced: bool = True
    stopping: bool = False
    rack: str = ""

    @property
    def eligible(self) -> bool:
        """May lead, and may be in sync."""
        return not self.fenced and not self.stopping

    @property
    def may_join(self) -> bool:
        """May join those in sync (KIP-841)."""
        return self.eligible or bugs.on("B161")

    @property
    def peers(self) -> tuple[str, int]:
        """Where other brokers reach it: a listener of its own, or that of the clients."""
        return (self.peer_host, self.peer_port) if self.peer_host else (self.host, self.port)


@dataclass(slots=True)
class TopicImage:
    """A topic as the cluster knows it; its partitions are numbered from zero."""

    name: str
    id: uuid.UUID
    placements: list[Placement]
    configs: dict[str, str] = field(default_factory=dict)
    internal: bool = False

    @property
    def partitions(self) -> int:
        return len(self.placements)


@dataclass(slots=True)
class Image:
    """The state after all records so far."""

    cluster_id: str = ""
    starts: int = 0
    next_producer_id: int = 0
    brokers: dict[int, BrokerImage] = field(default_factory=dict)
    topics: dict[str, TopicImage] = field(default_factory=dict)
    by_id: dict[uuid.UUID, TopicImage] = field(default_factory=dict)
    broker_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    client_metrics: dict[str, dict[str, str]] = field(default_factory=dict)

    def live(self) -> list[int]:
        """The brokers that may hold and lead partitions, in the order of their ids."""
        return sorted(broker.id for broker in self.brokers.values() if broker.eligible)

    def apply(self, record: JsonRecord) -> None:
        """Takes one record in; unknown kinds are an error, for they come from a newer version."""
        getattr(self, f"_on_{record['kind']}")(record)

    def _on_cluster(self, record: JsonRecord) -> None:
        self.cluster_id = record["id"]

    def _on_start(self, _: JsonRecord) -> None:
        """A broker that is a cluster of its own began anew: it leads all that it has in a new epoch."""
        self.starts += 1
        for topic in self.topics.values():
            for placement in topic.placements:
                placement.leader_epoch += 0 if bugs.on("M32d") else 1

    def _on_broker(self, record: JsonRecord) -> None:
        names = ("id", "epoch", "incarnation", "host", "port", "peer_host", "peer_port", "rack")
        fields = {name: record[name] for name in names if name in record}
        self.brokers[record["id"]] = BrokerImage(**fields)

    def _on_broker_state(self, record: JsonRecord) -> None:
        broker = self.brokers[record["id"]]
        broker.fenced, broker.stopping = record["fenced"], record["stopping"]

    def _on_topic(self, record: JsonRecord) -> None:
        topic = TopicImage(
            record["name"],
            uuid.UUID(record["id"]),
            [_placed(replicas) for replicas in record["replicas"]],
            dict(record["configs"]),
            record["internal"],
        )
        self.topics[topic.name] = self.by_id[topic.id] = topic

    def _on_topic_deleted(self, record: JsonRecord) -> None:
        topic = self.topics.pop(record["name"])
        del self.by_id[topic.id]

    def _on_partitions(self, record: JsonRecord) -> None:
        topic = self.topics[record["name"]]
        if bugs.on("B341"):
            topic.placements = [_placed(one.replicas) for one in topic.placements]
        topic.placements += [_placed(replicas) for replicas in record["replicas"]]

    def _on_partition(self, record: JsonRecord) -> None:
        """One partition changed: only what is named becomes another; each change is a new partition epoch."""
        placement = self.topics[record["name"]].placements[record["index"]]
        for name in ("replicas", "isr", "leader", "leader_epoch", "adding", "removing"):
            if name in record and not (name == "isr" and bugs.on("M33g")):
                setattr(placement, name, record[name])
        placement.partition_epoch += 1

    def _on_topic_configs(self, record: JsonRecord) -> None:
        self.topics[record["name"]].configs = dict(record["configs"])

    def _on_broker_configs(self, record: JsonRecord) -> None:
        self.broker_configs[record["name"]] = dict(record["configs"])

    def _on_group_configs(self, record: JsonRecord) -> None:
        self.group_configs[record["name"]] = dict(record["configs"])
        if not record["configs"] and not bugs.on("T12"):
            del self.group_configs[record["name"]]

    def _on_client_metrics(self, record: JsonRecord) -> None:
        self.client_metrics[record["name"]] = dict(record["configs"])
        if not record["configs"] and not bugs.on("V70"):
            del self.client_metrics[record["name"]]

    def _on_producer_ids(self, record: JsonRecord) -> None:
        self.next_producer_id = record["next"]


def _placed(replicas: list[int]) -> Placement:
    """A new partition: the replicas that the controller found alive come first, and the first of all leads."""
    return Placement(list(replicas), list(replicas), replicas[0])

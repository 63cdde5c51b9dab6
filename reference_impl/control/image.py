"""What the cluster knows of itself: topics, altered settings, counters. Pure: a record in, a new state.

In a cluster these records are the metadata log that every broker follows; with one node they are its own journal.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

JsonRecord = dict[str, Any]


@dataclass(slots=True)
class Topic:
    """A topic as the cluster knows it; its partitions are numbered from zero."""

    name: str
    id: uuid.UUID
    partitions: int
    configs: dict[str, str] = field(default_factory=dict)
    internal: bool = False
    born: int = 0  # the start of this broker in which it was made


@dataclass(slots=True)
class Image:
    """The state after all records so far."""

    cluster_id: str = ""
    starts: int = 0
    next_producer_id: int = 0
    topics: dict[str, Topic] = field(default_factory=dict)
    by_id: dict[uuid.UUID, Topic] = field(default_factory=dict)
    broker_configs: dict[str, str] = field(default_factory=dict)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)

    def apply(self, record: JsonRecord) -> None:
        """Takes one record in; unknown kinds are an error, for they come from a newer version."""
        getattr(self, f"_on_{record['kind']}")(record)

    def _on_cluster(self, record: JsonRecord) -> None:
        self.cluster_id = record["id"]

    def _on_start(self, _: JsonRecord) -> None:
        self.starts += 1

    def _on_topic(self, record: JsonRecord) -> None:
        topic = Topic(
            record["name"],
            uuid.UUID(record["id"]),
            record["partitions"],
            dict(record["configs"]),
            record["internal"],
            record["born"],
        )
        self.topics[topic.name] = self.by_id[topic.id] = topic

    def _on_topic_deleted(self, record: JsonRecord) -> None:
        topic = self.topics.pop(record["name"])
        del self.by_id[topic.id]

    def _on_partitions(self, record: JsonRecord) -> None:
        self.topics[record["name"]].partitions = record["count"]

    def _on_topic_configs(self, record: JsonRecord) -> None:
        self.topics[record["name"]].configs = dict(record["configs"])

    def _on_broker_configs(self, record: JsonRecord) -> None:
        self.broker_configs = dict(record["configs"])

    def _on_group_configs(self, record: JsonRecord) -> None:
        self.group_configs[record["name"]] = dict(record["configs"])
        if not record["configs"]:
            del self.group_configs[record["name"]]

    def _on_producer_ids(self, record: JsonRecord) -> None:
        self.next_producer_id = record["next"]

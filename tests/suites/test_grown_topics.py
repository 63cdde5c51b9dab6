"""A topic that was given more partitions is waited for until each node shows them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from brokertrial.suites.probe.failures import BrokerAtFault
from brokertrial.wire.messages import Struct, response
from tests.suites.scripted import TOPIC, wire_to


class Grown:
    """One node, which shows what a topic was given only after some looks."""

    def __init__(self, looks: int, error: int = 0) -> None:
        self.looks, self.error, self.seen = looks, error, 0

    def metadata(self, asked: Struct) -> Struct:
        self.seen += 1
        count = 2 if self.seen > self.looks else 1
        parts = [{"partition_index": n, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]} for n in range(count)]
        rows = [{"name": row.name, "topic_id": UUID(int=7), "partitions": parts} for row in asked.topics or []]
        return response("Metadata", brokers=[{"node_id": 1, "host": "h", "port": 9}], controller_id=1, topics=rows)

    def created(self, asked: Struct) -> Struct:
        return response("CreatePartitions", results=[{"name": TOPIC, "error_code": self.error}])

    def ends(self, asked: Struct) -> Struct:
        parts = [{"partition_index": asked.topics[0].partitions[0].partition_index, "offset": 0}]
        return response("ListOffsets", topics=[{"name": TOPIC, "partitions": parts}])


def grown(looks: int, error: int = 0) -> Any:
    node = Grown(looks, error)
    wire, _ = wire_to(Metadata=node.metadata, CreatePartitions=node.created, ListOffsets=node.ends)
    wire.refresh_metadata(TOPIC)
    wire.create_partitions(TOPIC, 2).error  # noqa: B018 - looked at: what is refused is no failure here
    return wire


def test_all_partitions_are_there_once_it_was_waited_for() -> None:
    wire = grown(looks=6)
    wire.await_topic(TOPIC)
    assert set(wire.known_partitions(TOPIC)) == {0, 1}


def test_partitions_that_never_come_are_a_failure() -> None:
    wire = grown(looks=10_000)
    with pytest.raises(BrokerAtFault, match="every node knows topic"):
        wire.await_topic(TOPIC)


def test_what_was_refused_is_not_waited_for() -> None:
    wire = grown(looks=10_000, error=37)
    wire.await_topic(TOPIC)
    assert set(wire.known_partitions(TOPIC)) == {0}

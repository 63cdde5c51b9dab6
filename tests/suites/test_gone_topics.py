"""A topic that was just deleted is still named by a node that has not heard of it: what comes next waits for that."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from brokertrial.suites.probe.topics import AGREE_S
from brokertrial.wire import errors
from brokertrial.wire.messages import response
from tests.suites.scripted import TOPIC, wire_to


class TwoNodes:
    """Every other look at metadata is answered by a node that still names the topic, so often."""

    def __init__(self, stale: int) -> None:
        self.stale = stale
        self.looks = 0

    def metadata(self, asked: Any) -> Any:
        self.looks += 1
        named = bool(asked.topics) and self.looks % 2 == 0 and self.looks <= 2 * self.stale
        code = errors.NONE if named else errors.UNKNOWN_TOPIC_OR_PARTITION
        topics = [{"name": TOPIC, "error_code": code}] if asked.topics else []
        return response("Metadata", brokers=[{"node_id": one, "host": "h", "port": 9} for one in (1, 2)], topics=topics)

    def waited_s(self) -> float:
        wire, exchanger = wire_to(Metadata=self.metadata)
        wire.refresh_metadata()
        wire.deleted_topics.add(TOPIC)
        began = exchanger.ns
        wire.await_deleted()
        return (exchanger.ns - began) / 1e9


def test_it_waits_until_no_node_names_the_topic() -> None:
    assert 0 < TwoNodes(stale=4).waited_s() < AGREE_S


def test_it_accuses_nobody_who_names_it_for_ever() -> None:
    assert TwoNodes(stale=10_000).waited_s() >= AGREE_S


def test_without_a_deletion_nothing_is_asked() -> None:
    nodes = TwoNodes(stale=0)
    wire, _ = wire_to(Metadata=nodes.metadata)
    wire.refresh_metadata()
    before = nodes.looks
    wire.await_deleted()
    assert nodes.looks == before


class SlowNode:
    """It goes on naming the topic by its old id, so often after the deletion, and by another one then."""

    OLD, NEW = UUID(int=1), UUID(int=2)

    def __init__(self, stale: int) -> None:
        self.stale = stale
        self.deleted = False

    def metadata(self, asked: Any) -> Any:
        self.stale -= self.deleted and bool(asked.topics)
        row = {
            "name": TOPIC,
            "topic_id": self.OLD if not self.deleted or self.stale > 0 else self.NEW,
            "partitions": [{"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}],
        }
        brokers = [{"node_id": 1, "host": "h", "port": 9}]
        return response("Metadata", brokers=brokers, topics=[row] if asked.topics else [])

    def delete(self, asked: Any) -> Any:
        self.deleted = True
        return response("DeleteTopics", responses=[{"name": TOPIC, "error_code": 0}])

    @staticmethod
    def ends(asked: Any) -> Any:
        part = {"partition_index": 0, "offset": 0}
        return response("ListOffsets", topics=[{"name": TOPIC, "partitions": [part]}])


def test_a_topic_that_was_made_again_is_not_taken_for_the_one_before() -> None:
    """Produce went to the deleted topic, and the next one was refused (3): a false accusation of Apache Kafka 4.4.0."""
    node = SlowNode(stale=3)
    wire, _ = wire_to(Metadata=node.metadata, DeleteTopics=node.delete, ListOffsets=node.ends)
    assert wire.topic_id(TOPIC) == node.OLD
    wire.delete_topic(TOPIC)
    wire.await_topic(TOPIC)
    assert wire.topic_id(TOPIC) == node.NEW

"""A topic that was just deleted is still named by a node that has not heard of it: what comes next waits for that."""

from __future__ import annotations

from typing import Any

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

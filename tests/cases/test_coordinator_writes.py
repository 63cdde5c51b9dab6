"""Which partition of __consumer_offsets a group is coordinated in, as Kafka works it out, and what is written there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from brokertrial.suites.probe.coordinator_writes import OFFSETS_TOPIC, coordinator_partition, make_coordinator_write


@pytest.mark.parametrize(
    ("group", "hash_code"),
    [("", 0), ("a", 97), ("hello", 99162322), ("my-group", 1906497762), ("polygenelubricants", 0)],
    ids=["empty", "one letter", "positive", "negative", "the least integer"],
)
def test_the_hash_is_that_of_java(group: str, hash_code: int) -> None:
    """`hash_code`: Utils.abs of what String.hashCode gives; that of the least integer is 0."""
    assert coordinator_partition(group, 1 << 31) == hash_code
    assert coordinator_partition(group, 50) == hash_code % 50


class FakeWire:
    """A cluster with a topic, whose commits are kept."""

    def __init__(self, nodes: int, apis: tuple[str, ...] = ("OffsetCommit",)) -> None:
        self.nodes = list(range(nodes))
        self.made_topics = ["t"]
        self._apis = apis
        self.commits: list[tuple[str, SimpleNamespace]] = []

    def versions(self, api: str) -> tuple[int, ...]:
        return (0, 9) if api in self._apis else ()

    def metadata(self, *topics: str) -> SimpleNamespace:
        rows = [SimpleNamespace(name=name, error_code=0, partitions=[None] * 3) for name in topics]
        return SimpleNamespace(struct=SimpleNamespace(topics=rows))

    def name(self, hint: str) -> str:
        return hint

    def commit(self, group: str, topic: str, *, offset: int) -> SimpleNamespace:
        self.commits.append((group, SimpleNamespace(topic=topic, examined=False)))
        return self.commits[-1][1]


def test_another_group_of_the_same_partition_is_written_for() -> None:
    wire = FakeWire(nodes=3)
    make_coordinator_write(wire, "mine")
    ((group, answer),) = wire.commits
    assert group != "mine" and coordinator_partition(group, 3) == coordinator_partition("mine", 3)
    assert answer.topic == "t" != OFFSETS_TOPIC
    assert answer.examined, "a refused commit is no verdict"


@pytest.mark.parametrize("wire", [FakeWire(nodes=1), FakeWire(nodes=3, apis=())], ids=["one node", "no commits"])
def test_nothing_is_written_where_no_coordinator_moves_or_nothing_is_committed(wire: FakeWire) -> None:
    make_coordinator_write(wire, "mine")
    assert not wire.commits

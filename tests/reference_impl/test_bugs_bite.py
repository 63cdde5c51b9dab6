"""Every planted bug of the log, the producers, the reading side and the admin calls changes an answer.

The broker's handlers are called in process, under a clock that stands still: one probe, one healthy node, one sick one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brokertrial.reference_impl import api, bugs
from brokertrial.reference_impl.broker.node import Node
from brokertrial.reference_impl.clock import ManualClock
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.wire import apis, records
from brokertrial.wire.messages import Struct, request

T = 1_700_000_000_000


class Bench:
    """A node without a listener, and the calls of the probes."""

    def __init__(self, data: Path, **settings: str) -> None:
        self.clock = ManualClock(T)
        self.data = data
        self.settings = {key.replace("_", "."): value for key, value in settings.items()}
        self._begin()

    def _begin(self) -> None:
        self.node = Node(BrokerConfig(self.data, settings=self.settings), self.clock)
        self.node.recover()

    def restart(self, *, clean: bool = False) -> None:
        for topic in self.node.topics.all():
            for index in range(topic.partitions):
                partition = self.node.partition(topic.name, index)
                assert partition is not None
                partition.close(clean=clean)
        self.node.journal.close()
        if clean:
            (self.data / "clean-shutdown").touch()
        self._begin()

    def call(self, message: Struct, version: int) -> Any:
        served = api.served()[apis.by_name(message._api).key]
        return served.handler(message, api.Context(self.node, served.api, version, 1, "test", 1, "127.0.0.1"))

    def topic(self, name: str = "t", partitions: int = 1, **configs: str) -> None:
        self.node.create_topic(name, partitions, {key.replace("_", "."): value for key, value in configs.items()})

    def produce(self, *values: bytes, acks: int = 1, topics: tuple[str, ...] = ("t",), **fields: Any) -> Any:
        at = fields.pop("at", T)
        keyed = fields.pop("key", b"k")
        rows = [records.Record(keyed, value, timestamp=at + i) for i, value in enumerate(values)]
        data = memoryview(records.build_batch(rows, **fields))
        parts = [{"name": name, "partition_data": [{"index": 0, "records": data}]} for name in topics]
        wanted = request("Produce", transactional_id=None, acks=acks, timeout_ms=1, topic_data=parts)
        answer = self.call(wanted, 9)
        if answer is None:
            return None
        found = [t.partition_responses[0] for t in answer.responses]
        return [(p.error_code, p.base_offset) for p in found]

    def transact(self, *values: bytes, commit: bool, sequence: int = 0) -> None:
        rows = [records.Record(b"k", value, timestamp=T) for value in values]
        partition = self.partition
        partition.append_internal(
            records.build_batch(rows, producer_id=5, producer_epoch=0, base_sequence=sequence, transactional=True)
        )
        partition.append_marker(5, 0, 0, commit)

    @property
    def partition(self) -> Any:
        return self.node.partition("t", 0)

    def fetch(self, offset: int, *, committed: bool = False, limit: int = 1 << 20) -> Any:
        wanted = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": limit}
        topics = [{"topic": "t", "partitions": [wanted]}]
        asked = request("Fetch", max_bytes=limit, isolation_level=int(committed), topics=topics)
        part = self.call(asked, 12).responses[0].partitions[0]
        seen = [r.value for b in records.batches(part.records) if not b.header.is_control for r in b.records()]
        aborted = [a.first_offset for a in part.aborted_transactions or []]
        return part.error_code, part.last_stable_offset, seen, aborted

    def offset(self, time: int, *, committed: bool = False) -> Any:
        topics = [{"name": "t", "partitions": [{"timestamp": time}]}]
        asked = request("ListOffsets", replica_id=-1, isolation_level=int(committed), topics=topics)
        part = self.call(asked, 5).topics[0].partitions[0]
        return part.error_code, part.offset, part.leader_epoch


def idempotent(b: Bench, *sequences: int, epoch: int = 0) -> list[Any]:
    return [b.produce(b"v", producer_id=9, producer_epoch=epoch, base_sequence=s) for s in sequences]


def produce_five(b: Bench) -> Any:
    b.topic()
    return [b.produce(b"%d" % i, b"x") for i in range(8)], b.fetch(0)


def duplicates(b: Bench) -> Any:
    b.topic()
    return idempotent(b, 0, 1, 2, 1, 2), b.fetch(0)


def sequences(b: Bench) -> Any:
    b.topic()
    return idempotent(b, 0, 5), idempotent(b, 3, 0, epoch=1), idempotent(b, 1, epoch=0)


def after_a_restart(b: Bench) -> Any:
    b.topic()
    before = idempotent(b, 0, 1)
    b.restart()
    return before, b.fetch(0), idempotent(b, 1)


def after_a_clean_restart(b: Bench) -> Any:
    b.topic()
    b.produce(b"a")
    b.produce(b"b")
    b.restart(clean=True)
    return b.fetch(0)


def again_without_id(b: Bench) -> Any:
    b.topic()
    return b.produce(b"same"), b.produce(b"same"), b.fetch(0)


def transactions(b: Bench) -> Any:
    b.topic(segment_bytes="1048576")
    b.transact(b"aborted", commit=False)
    b.transact(b"committed", commit=True, sequence=1)
    b.produce(b"plain")
    b.partition.append_internal(
        records.build_batch(
            [records.Record(b"k", b"open", timestamp=T)],
            producer_id=6,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
    )
    return b.fetch(0, committed=True), b.fetch(0), b.offset(-1, committed=True)


def aborted_over_two_segments(b: Bench) -> Any:
    b.topic()
    rows = [records.Record(b"k", b"v", timestamp=T)]
    for sequence in range(2):
        b.partition.append_internal(
            records.build_batch(rows, producer_id=5, producer_epoch=0, base_sequence=sequence, transactional=True)
        )
        b.partition.log.roll(T)
    b.partition.append_marker(5, 0, 0, False)
    return b.fetch(1, committed=True)


def bad_batches(b: Bench) -> Any:
    b.topic(max_message_bytes="300")
    odd: list[dict[str, Any]] = [{"crc": 1}, {"record_count": 1, "last_offset_delta": 5}, {"control": True}]
    return [b.produce(b"v", **fields) for fields in odd], b.produce(b"v" * 400)


def special_topics(b: Bench) -> Any:
    b.topic("c", cleanup_policy="compact")
    b.topic(message_timestamp_type="LogAppendTime")
    b.produce(b"v", at=5)
    return b.produce(b"v", key=None, topics=("c",)), b.offset(-3), b.offset(T)


def reading(b: Bench) -> Any:
    b.topic()
    for i in range(6):
        b.produce(b"a%d" % i, b"b%d" % i, at=T + 10 * i)
    ranges = [b.fetch(o) for o in (0, 1, 12, 13)], b.fetch(0, limit=10)
    times = [b.offset(t) for t in (-2, -1, T, T + 1, T + 5, T + 51, T + 60)]
    b.call(request("DeleteRecords", topics=[{"name": "t", "partitions": [{"offset": 5}]}]), 1)
    return ranges, times, b.offset(-2), b.offset(T), b.fetch(0)


def epochs(b: Bench) -> Any:
    b.topic()
    b.produce(b"a")
    b.restart()
    b.produce(b"b")
    topics = [{"topic": "t", "partitions": [{"leader_epoch": 0}]}]
    part = b.call(request("OffsetForLeaderEpoch", replica_id=-1, topics=topics), 3).topics[0].partitions[0]
    return b.offset(-2), (part.leader_epoch, part.end_offset)


def retention(b: Bench) -> Any:
    b.topic(segment_bytes="1048576", retention_bytes="1100000")
    for _ in range(40):
        b.produce(b"x" * 100_000)
    b.partition.housekeeping()
    return b.offset(-2)


def answers(b: Bench) -> Any:
    b.topic("a")
    b.topic("b")
    listed = b.call(request("ApiVersions"), 0).api_keys
    return b.produce(b"v", topics=("a", "b")), b.produce(b"v", topics=("a",), acks=0), [k.max_version for k in listed]


def administration(b: Bench) -> Any:
    b.topic(segment_ms="5000")
    b.produce(b"old")
    found: list[Any] = []
    wanted = {"name": "only-checked", "num_partitions": 1, "replication_factor": 1}
    b.call(request("CreateTopics", topics=[wanted], validate_only=True), 7)
    b.call(request("Metadata", topics=[{"name": "never"}], allow_auto_topic_creation=False), 9)
    b.call(request("CreatePartitions", topics=[{"name": "t", "count": 3, "assignments": None}]), 3)
    entries = [{"name": "retention.ms", "value": "7000"}]
    b.call(request("AlterConfigs", resources=[{"resource_type": 2, "resource_name": "t", "configs": entries}]), 1)
    found += [(t.name, t.partitions, t.configs) for t in b.node.topics.all()]
    b.call(request("DeleteTopics", topic_names=["t"]), 3)
    b.topic()
    return found, b.fetch(0)


PROBES: dict[Callable[[Bench], Any], list[str]] = {
    produce_five: ["M01a", "M01b", "M07a", "M07b", "M08", "M31b"],
    duplicates: ["M09", "M10", "M10b", "M90"],
    sequences: ["M12", "M12b", "M13a"],
    after_a_restart: ["M02a", "M02c", "M11a", "M91"],
    after_a_clean_restart: ["M02b"],
    again_without_id: ["M14"],
    transactions: ["M15a", "M15b", "M17", "M29b"],
    aborted_over_two_segments: ["M16"],
    bad_batches: ["M31", "M31c", "M31d", "M40a"],
    special_topics: ["M36d", "M39e"],
    reading: ["M29a", "M30a", "M30b", "M30c", "M30d", "M37a", "M37b", "M37c", "M40h"],
    epochs: ["M29c", "M32b"],
    retention: ["M35a", "M35d"],
    answers: ["M38a", "M38e", "M39h"],
    administration: ["M40d", "M40e", "M40f", "M40i", "M40k"],
}
CASES = [(probe, bug) for probe, found in PROBES.items() for bug in found]


@pytest.mark.parametrize(("probe", "bug"), CASES, ids=[bug for _, bug in CASES])
def test_a_planted_bug_changes_an_answer(probe: Callable[[Bench], Any], bug: str, tmp_path: Path) -> None:
    healthy = probe(Bench(tmp_path / "healthy"))
    assert probe(Bench(tmp_path / "healthy too")) == healthy, "a healthy broker gives the same answers twice"
    bugs.plant(f"{bug}:every=1")
    assert probe(Bench(tmp_path / "sick")) != healthy

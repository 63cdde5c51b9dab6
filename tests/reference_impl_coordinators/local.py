"""A whole broker without sockets, under a clock that only moves when told: requests go straight to the handlers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brokertrial.reference_impl import api
from brokertrial.reference_impl.broker.node import Node
from brokertrial.reference_impl.clock import ManualClock
from brokertrial.reference_impl.settings.config import BrokerConfig
from brokertrial.wire import apis, errors
from brokertrial.wire.messages import Struct, request
from brokertrial.wire.records import Batch, Record, build_batch

COMMIT, ABORT = True, False
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "1000",
}


class Local:
    """One broker on one folder. `crash` forgets all memory, as kill -9 does, and reads the folder back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.clock = ManualClock()
        self._boot()
        for name in ("t", "u"):
            self.node.create_topic(name, 3, {})

    def crash(self) -> None:
        """What timers had planned never happens; the wall clock goes on."""
        self.close()
        self.clock = ManualClock(self.clock.now_ms())
        self._boot()

    def close(self) -> None:
        """Lets go of the files, and writes nothing more to them."""
        for topic in self.node.topics.all():
            for index in range(topic.partitions):
                if (partition := self.node.partition(topic.name, index)) is not None:
                    partition.close(clean=False)
        self.node.journal.close()

    def _boot(self) -> None:
        self.node = Node(
            BrokerConfig(data=self._folder, settings=dict(SETTINGS)), clock=self.clock, rng=random.Random(7)
        )
        self.node.recover()

    def call(self, name: str, version: int, /, **fields: Any) -> Struct:
        served = api.served()[apis.by_name(name).key]
        context = api.Context(self.node, served.api, version, 1, "c", 1, "127.0.0.1")
        answer = served.handler(request(name, **fields), context)
        assert isinstance(answer, Struct), f"{name} does not answer at once"
        return answer

    def commit(self, offset: int, group: str = "g", topic: str = "t", **more: Any) -> int:
        line = {"partition_index": 0, "committed_offset": offset, "committed_metadata": f"at {offset}", **more}
        answer = self.call("OffsetCommit", 8, group_id=group, topics=[{"name": topic, "partitions": [line]}])
        return int(answer.topics[0].partitions[0].error_code)

    def fetched(self, group: str = "g", topic: str = "t", *, stable: bool = False) -> Struct:
        groups = [{"group_id": group, "topics": [{"name": topic, "partition_indexes": [0]}]}]
        answer = self.call("OffsetFetch", 8, groups=groups, require_stable=stable)
        found: Struct = answer.groups[0].topics[0].partitions[0]
        return found

    def offset(self, group: str = "g", topic: str = "t") -> int:
        return int(self.fetched(group, topic).committed_offset)

    def producer(self, name: str | None = "x", timeout_ms: int = 60_000) -> tuple[int, int]:
        while True:
            a = self.call("InitProducerId", 4, transactional_id=name, transaction_timeout_ms=timeout_ms)
            if a.error_code != errors.CONCURRENT_TRANSACTIONS:
                assert a.error_code == errors.NONE, errors.name(a.error_code)
                return a.producer_id, a.producer_epoch
            self.clock.advance(0)

    def begin(self, producer: tuple[int, int], *where: tuple[str, int], name: str = "x") -> list[int]:
        """Takes partitions into a transaction and writes one record to each; the Produce codes."""
        pid, epoch = producer
        topics = [{"name": t, "partitions": [p]} for t, p in where]
        added = self.call(
            "AddPartitionsToTxn", 3, v3_and_below_transactional_id=name, v3_and_below_producer_id=pid,
            v3_and_below_producer_epoch=epoch, v3_and_below_topics=topics,
        )  # fmt: skip
        codes = {p.partition_error_code for t in added.results_by_topic_v3_and_below for p in t.results_by_partition}
        assert codes == {errors.NONE}, codes
        return [self.produce(producer, t, p, name=name) for t, p in where]

    def produce(self, producer: tuple[int, int], topic: str, index: int, *, name: str = "x") -> int:
        entry = self.partition(topic, index).producers.entries.get(producer[0])
        sequence = 0 if entry is None or entry.epoch != producer[1] else entry.last_sequence + 1
        records = [Record(key=None, value=b"v", timestamp=self.clock.now_ms())]
        batch = build_batch(
            records, producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence, transactional=True
        )
        data = [{"name": topic, "partition_data": [{"index": index, "records": memoryview(batch)}]}]
        answer = self.call("Produce", 9, transactional_id=name, acks=-1, timeout_ms=1000, topic_data=data)
        return int(answer.responses[0].partition_responses[0].error_code)

    def stage(self, producer: tuple[int, int], offset: int, *, name: str = "x", group: str = "g") -> int:
        """Sends an offset into a transaction; the code of TxnOffsetCommit."""
        ids = {"transactional_id": name, "producer_id": producer[0], "producer_epoch": producer[1], "group_id": group}
        assert self.call("AddOffsetsToTxn", 3, **ids).error_code == errors.NONE
        line = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        answer = self.call("TxnOffsetCommit", 3, topics=[{"name": "t", "partitions": [line]}], **ids)
        return int(answer.topics[0].partitions[0].error_code)

    def end(self, producer: tuple[int, int], commit: bool, *, name: str = "x", version: int = 3) -> int:
        ids = {"transactional_id": name, "producer_id": producer[0], "producer_epoch": producer[1]}
        return int(self.call("EndTxn", version, committed=commit, **ids).error_code)

    def state(self, name: str = "x") -> str:
        found = self.call("DescribeTransactions", 0, transactional_ids=[name]).transaction_states[0]
        return str(found.transaction_state)

    def partition(self, topic: str, index: int) -> Any:
        return self.node.partition(topic, index)

    def markers(self, topic: str, index: int) -> list[str]:
        """The control records of a partition, in order."""
        return [batch.marker().kind for batch in self.batches(topic, index) if batch.header.is_control]

    def batches(self, topic: str, index: int) -> Iterator[Batch]:
        found: Iterator[Batch] = self.partition(topic, index).batches()
        return found

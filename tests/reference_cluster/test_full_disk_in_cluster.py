"""One of three disks is full: others go on, and its node, killed and started on it, has all that it acknowledged."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brokertrial.reference_impl.broker.cluster import Cluster
from brokertrial.wire import errors
from brokertrial.wire.client import Connection
from brokertrial.wire.conversation import ConnectionFailed
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record, batches, build_batch
from tests.reference_cluster.test_real_processes import control, placement
from tests.reference_impl.brokers import Deadline
from tests.reference_impl.test_full_disk import fill_up, small_disk

__all__ = ["small_disk"]
SMALL = 2
"""The node with the small disk."""
LED_THERE, LED_ELSEWHERE, NOWHERE_ELSE = "led-there", "led-elsewhere", "nowhere-else"
PLACED = {LED_THERE: [SMALL, 1, 3], LED_ELSEWHERE: [1, SMALL, 3], NOWHERE_ELSE: [SMALL]}


@pytest.fixture
def cluster(small_disk: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    (small_disk / "ballast").write_bytes(bytes(1 << 20))
    (small_disk / "data").mkdir()
    (folder / f"node-{SMALL}").symlink_to(small_disk / "data")
    running = Cluster(folder, 3, 0, ["--log-level", "WARNING"])
    try:
        running.start()
        yield running
    finally:
        running.stop()


class Client:
    """Writes batches of 50 kB to whoever leads and remembers which were acknowledged."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._next = cluster, 0
        self.acknowledged: dict[str, dict[int, int]] = {name: {} for name in PLACED}

    def ask(self, node: int, api: str, version: int, **fields: Any) -> Any:
        with Connection("127.0.0.1", self._cluster.ports[node], timeout_s=30) as line:
            return line.call(request(api, **fields), version)

    def create(self) -> None:
        wanted = [
            {"name": name, "num_partitions": -1, "replication_factor": -1,
             "assignments": [{"partition_index": 0, "broker_ids": nodes}]}
            for name, nodes in PLACED.items()
        ]  # fmt: skip
        answer = self.ask(1, "CreateTopics", 5, topics=wanted, timeout_ms=5000)
        assert [one.error_code for one in answer.topics] == [0, 0, 0]

    def write(self, topic: str) -> int:
        """The error code; LEADER_NOT_AVAILABLE when there is nobody to write to."""
        leader = placement(self._cluster, topic)["leader"]
        if leader < 0:
            return errors.LEADER_NOT_AVAILABLE
        self._next += 1
        batch = build_batch([Record(None, b"%d " % self._next + bytes(50_000), timestamp=int(time.time() * 1000))])
        data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
        try:
            answer = self.ask(leader, "Produce", 9, acks=-1, timeout_ms=4000, topic_data=data)
        except ConnectionFailed:  # it has just died
            return errors.LEADER_NOT_AVAILABLE
        part = answer.responses[0].partition_responses[0]
        if not part.error_code:
            self.acknowledged[topic][self._next] = part.base_offset
        return int(part.error_code)

    def write_until(self, topic: str, code: int) -> None:
        waiting = Deadline(f"a write to {topic} to be answered with {errors.name(code)}")
        while waiting and self.write(topic) != code:
            pass

    def read(self, topic: str) -> dict[int, int]:
        """What the node with the small disk has of the acknowledged: value and offset."""
        found: dict[int, int] = {}
        offset = 0
        while data := self._fetched(topic, offset):
            for batch in batches(data):
                found |= {int(bytes(one.value or b"").split()[0]): one.offset for one in batch.records()}
                offset = batch.header.last_offset + 1
        return {value: at for value, at in found.items() if value in self.acknowledged[topic]}

    def _fetched(self, topic: str, offset: int) -> Any:
        part = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        asked = {"max_wait_ms": 0, "max_bytes": 1 << 20, "topics": [{"topic": topic, "partitions": [part]}]}
        return self.ask(SMALL, "Fetch", 12, **asked).responses[0].partitions[0].records


def test_a_node_killed_on_a_full_disk_comes_back_into_its_cluster(cluster: Cluster, small_disk: Path) -> None:
    client = Client(cluster)
    client.create()
    for topic in (NOWHERE_ELSE, LED_ELSEWHERE):
        for _ in range(10):
            assert client.write(topic) == errors.NONE
    client.write_until(LED_THERE, errors.KAFKA_STORAGE_ERROR)
    fill_up(small_disk / "the rest")
    assert client.write(NOWHERE_ELSE) == errors.KAFKA_STORAGE_ERROR
    client.write_until(LED_ELSEWHERE, errors.NONE)  # as soon as the follower that cannot follow is out of the set
    assert SMALL not in placement(cluster, LED_ELSEWHERE)["isr"]

    for _ in range(2):  # the second start finds what the first one could not write
        cluster.kill(SMALL)
        client.write_until(LED_THERE, errors.NONE)  # led by another now
        cluster.restart(SMALL)
        assert client.read(NOWHERE_ELSE) == client.acknowledged[NOWHERE_ELSE]
        client.write_until(LED_ELSEWHERE, errors.NONE)

    (small_disk / "ballast").unlink()
    for topic in (LED_THERE, LED_ELSEWHERE):
        waiting = Deadline(f"all replicas of {topic} in sync")
        while waiting and len(placement(cluster, topic)["isr"]) < 3:
            time.sleep(0.02)
        moved = control(cluster, 0, do="move_leader", topic=topic, partition=0, to=SMALL)
        assert moved["ok"], moved
    for topic in PLACED:
        client.write_until(topic, errors.NONE)
        assert client.read(topic) == client.acknowledged[topic], topic
    for log in cluster.data_of(1).parent.glob("*.log"):
        assert "Traceback" not in log.read_text(), log

"""Hostile input between brokers, to the controller and on the control channels: the cluster goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from brokertrial.reference_impl.broker.channel import MOST_CONNECTIONS, SOCKET
from brokertrial.reference_impl.broker.cluster import Cluster
from brokertrial.wire import apis
from brokertrial.wire.client import Connection
from brokertrial.wire.messages import request
from brokertrial.wire.records import Record, build_batch
from campaigns.hostile import traffic
from campaigns.hostile.frames import TOPICS

FRAMES = 500
BETWEEN_BROKERS = ("Fetch", "WriteTxnMarkers", "AddPartitionsToTxn", "OffsetForLeaderEpoch", "ElectLeaders")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(tmp_path_factory.mktemp("hostile"), 1, 0, ["--log-level", "WARNING"])
    try:
        running.start()
        wanted = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in (*TOPICS, "mine")]
        with Connection("127.0.0.1", running.ports[1], timeout_s=30) as line:
            line.call(request("CreateTopics", topics=wanted, timeout_ms=5000), 5)
        yield running
    finally:
        running.stop()


@pytest.fixture
def served_all_the_time(cluster: Cluster) -> Iterator[None]:
    """A connection that is there before and after, and finds nothing wrong in the logs."""
    with Connection("127.0.0.1", cluster.ports[1], timeout_s=30) as line:
        write(line)
        yield
        write(line)
    assert cluster.runs(0) and cluster.runs(1)
    for log in Path(cluster.data_of(1)).parent.glob("*.log"):
        wrong = [one for one in log.read_text().splitlines() if " ERROR " in one or "Traceback" in one]
        assert wrong == []


def write(line: Connection) -> None:
    data = [{"name": "mine", "partition_data": [{"index": 0, "records": build_batch([Record(None, b"x")])}]}]
    answer = line.call(request("Produce", acks=-1, timeout_ms=5000, topic_data=data), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def offered(port: int, only: tuple[str, ...] = ()) -> dict[str, tuple[int, int]]:
    with Connection("127.0.0.1", port, timeout_s=30) as line:
        known = {apis.by_key(key): versions for key, versions in line.offered().items()}
    found = {api.name: (max(low, api.min_version), high) for api, (low, high) in known.items() if api is not None}
    return {name: versions for name, versions in found.items() if not only or name in only}


@pytest.mark.usefixtures("served_all_the_time")
def test_between_brokers(cluster: Cluster) -> None:
    port = cluster.ports[1]
    tally = asyncio.run(traffic.frames(port, Random(7), offered(port, BETWEEN_BROKERS), FRAMES))
    assert tally.deaf == 0 and tally.answered > FRAMES / 10


@pytest.mark.usefixtures("served_all_the_time")
def test_the_controller(cluster: Cluster) -> None:
    port = cluster.controller_port
    tally = asyncio.run(traffic.frames(port, Random(7), offered(port), FRAMES))
    assert tally.deaf == 0 and tally.answered > FRAMES / 10


@pytest.mark.usefixtures("served_all_the_time")
@pytest.mark.parametrize("node", [0, 1])
def test_the_control_channel(cluster: Cluster, node: int) -> None:
    tally = asyncio.run(traffic.control(cluster.data_of(node), Random(7), 80))
    assert tally.deaf == 0 and tally.answered > 40


@pytest.mark.usefixtures("served_all_the_time")
def test_the_control_channel_has_room_for_so_many(cluster: Cluster) -> None:
    async def crowded() -> list[bytes]:
        lines = [await asyncio.open_unix_connection(cluster.data_of(1) / SOCKET) for _ in range(MOST_CONNECTIONS + 3)]
        answers = [await asked(*line) for line in lines]
        for _, writer in lines:
            writer.close()
        return answers

    async def asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        try:
            writer.write(b'{"do": "nothing"}\n')
            return await reader.readline()
        except OSError:
            return b""

    answers = asyncio.run(crowded())
    assert [bool(one) for one in answers] == [True] * MOST_CONNECTIONS + [False] * 3

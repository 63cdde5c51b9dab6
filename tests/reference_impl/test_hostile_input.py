"""Hostile clients of a node: nothing dies, memory stays bounded, others are served (at large: campaigns/hostile)."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from brokertrial.wire import apis, errors
from brokertrial.wire.client import Connection
from brokertrial.wire.codec import Malformed, decode, encode
from brokertrial.wire.crc32c import crc32c
from brokertrial.wire.messages import Struct, request
from brokertrial.wire.records import Record, build_batch
from campaigns.hostile import traffic
from campaigns.hostile.frames import TOPICS
from tests.reference_impl.brokers import BrokerProcess, Deadline

MIB = 1 << 20
FRAMES = 1500
Start = Callable[..., BrokerProcess]


def connect(broker: BrokerProcess) -> Connection:
    return Connection("127.0.0.1", broker.port, timeout_s=30)


def ask(broker: BrokerProcess, message: Struct, version: int) -> Struct:
    with connect(broker) as line:
        return line.call(message, version)


def create(broker: BrokerProcess, *names: str) -> None:
    wanted = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
    answer = ask(broker, request("CreateTopics", topics=wanted, timeout_ms=5000), 5)
    assert [one.error_code for one in answer.topics] == [0] * len(names)


def produce(line: Connection, topic: str, size: int) -> None:
    batch = build_batch([Record(None, bytes(size), timestamp=int(time.time() * 1000))])
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    answer = line.call(request("Produce", acks=1, timeout_ms=5000, topic_data=data), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def fetched(line: Connection, topic: str, size: int) -> int:
    parts = [{"topic": topic, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": size}]}]
    answer = line.call(request("Fetch", max_wait_ms=0, max_bytes=size, topics=parts), 12)
    return len(answer.responses[0].partitions[0].records)


def rss_mib(broker: BrokerProcess) -> float:
    lines = Path(f"/proc/{broker.pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def complaints(broker: BrokerProcess) -> list[str]:
    """What a handler that failed leaves in the log."""
    return [line for line in broker.log.read_text().splitlines() if " ERROR " in line or "Traceback" in line]


def test_hostile_frames_of_every_api(start_broker: Start) -> None:
    broker = start_broker("--log-level", "WARNING", "--set", "auto.create.topics.enable=false")
    create(broker, *TOPICS, "mine")
    with connect(broker) as line:
        known = {apis.by_key(key): versions for key, versions in line.offered().items()}
        served = {api.name: (max(low, api.min_version), high) for api, (low, high) in known.items() if api is not None}
        produce(line, "mine", 100)
        before = rss_mib(broker)
        tally = asyncio.run(traffic.frames(broker.port, Random(7), served, FRAMES))
        assert fetched(line, "mine", MIB) > 100, "this connection was there all the time"
    assert tally.sent >= FRAMES and tally.answered > FRAMES / 10 and tally.closed > FRAMES / 10
    assert tally.deaf == 0
    assert complaints(broker) == []
    assert rss_mib(broker) - before < 100


def test_idle_and_half_open_connections_are_borne_and_ended(start_broker: Start) -> None:
    broker = start_broker("--set", "connections.max.idle.ms=2000")
    create(broker, "mine")

    async def burdened() -> None:
        lines = await traffic.idle(broker.port, 150) + await traffic.half_open(broker.port, Random(7), 150)
        dripping = socket.create_connection(("127.0.0.1", broker.port), timeout=30)
        dripping.sendall((1000).to_bytes(4, "big"))
        await asyncio.to_thread(lambda: produce(connect(broker), "mine", 100))
        patience = Deadline("the end of connections that never send a whole request")
        while patience and not all(line.ended for line in lines):
            await asyncio.sleep(0.1)
        while patience and _still_open(dripping):
            await asyncio.sleep(0.1)
        traffic.end(lines)

    asyncio.run(burdened())
    assert complaints(broker) == []


def _still_open(line: socket.socket) -> bool:
    """One byte more of a frame that never ends; False once nobody takes it."""
    try:
        line.sendall(b"x")
    except OSError:
        line.close()
        return False
    return True


def test_frames_that_never_end_cost_no_more_than_the_limit(start_broker: Start) -> None:
    broker = start_broker("--set", f"queued.max.request.bytes={16 * MIB}")
    create(broker, "mine")
    before = rss_mib(broker)

    async def burdened() -> None:
        lines = await traffic.large_and_unfinished(broker.port, 8, 8 * MIB)
        await asyncio.to_thread(lambda: produce(connect(broker), "mine", 100))
        traffic.end(lines)

    asyncio.run(burdened())
    assert rss_mib(broker) - before < 50, "64 MiB were sent"
    assert "aborted" in broker.log.read_text()


def test_clients_that_never_read_cost_no_more_than_the_limit(start_broker: Start) -> None:
    broker = start_broker("--set", f"queued.max.request.bytes={16 * MIB}")
    create(broker, "bulk")
    with connect(broker) as line:
        for _ in range(12):
            produce(line, "bulk", 900_000)
    before = rss_mib(broker)

    async def burdened() -> None:
        lines = await traffic.slow_readers(broker.port, "bulk", 30)
        served = await asyncio.to_thread(lambda: fetched(connect(broker), "bulk", 2 * MIB))
        traffic.end(lines)
        assert served >= 900_000

    asyncio.run(burdened())
    assert rss_mib(broker) - before < 90, "30 clients asked 8 times for 10 MiB each"


def test_no_request_makes_more_partitions_than_kafka_would(broker: BrokerProcess) -> None:
    wanted = [
        {"name": f"many-{n}", "num_partitions": count, "replication_factor": 1} for n, count in enumerate((1, 10_000))
    ]
    answer = ask(broker, request("CreateTopics", topics=wanted, timeout_ms=5000), 5)
    assert [one.error_code for one in answer.topics] == [errors.POLICY_VIOLATION] * 2
    create(broker, "few")
    more = [{"name": "few", "count": (1 << 31) - 1, "assignments": None}]
    grown = ask(broker, request("CreatePartitions", topics=more, timeout_ms=5000), 3)
    assert [one.error_code for one in grown.results] == [errors.POLICY_VIOLATION]


def test_one_request_creates_many_topics_in_turns(broker: BrokerProcess) -> None:
    names = [f"turn{n}" for n in range(120)]
    create(broker, *names)
    asked = request("Metadata", topics=[{"name": f"fresh{n}"} for n in range(130)], allow_auto_topic_creation=True)
    codes = [[one.error_code for one in ask(broker, asked, 9).topics] for _ in range(2)]
    assert codes == [[0] * 100 + [errors.UNKNOWN_TOPIC_OR_PARTITION] * 30, [0] * 130]


def test_a_batch_of_more_records_than_anybody_sends_is_not_looked_at(broker: BrokerProcess) -> None:
    create(broker, "bomb")
    batch = bytearray(build_batch([Record(None, b"x", timestamp=1)]))
    batch[23:27], batch[57:61] = ((1 << 25) - 1).to_bytes(4, "big"), (1 << 25).to_bytes(4, "big")
    batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
    data = [{"name": "bomb", "partition_data": [{"index": 0, "records": bytes(batch)}]}]
    answer = ask(broker, request("Produce", acks=1, timeout_ms=5000, topic_data=data), 9)
    [part] = answer.responses[0].partition_responses
    assert part.error_code == errors.INVALID_RECORD


def test_a_pattern_cannot_keep_the_broker_busy(broker: BrokerProcess) -> None:
    create(broker, "a" * 40)
    joining = {"group_id": "patterns", "member_id": "m", "member_epoch": 0, "rebalance_timeout_ms": 1000}
    began = time.monotonic()
    for text in ("(a|a)*b", "(a*)*b", "(a+)+$b"):
        joined = request("ConsumerGroupHeartbeat", **joining, subscribed_topic_regex=text, topic_partitions=[])
        assert ask(broker, joined, 1).error_code == 0
    assert time.monotonic() - began < 10, "a backtracking matcher needs years"
    for text in ("(?=a)", r"(a)\1", "(", "((a{1000}){1000})"):
        joined = request("ConsumerGroupHeartbeat", **joining, subscribed_topic_regex=text, topic_partitions=[])
        assert ask(broker, joined, 1).error_code == errors.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize(("elements", "is_read"), [(100_000, True), (100_001, False)])
def test_a_request_has_only_so_many_elements(elements: int, is_read: bool) -> None:
    frame = encode(request("DeleteGroups", groups_names=[""] * elements), 2)
    try:
        decode("DeleteGroups", "request", 2, frame)
    except Malformed as wrong:
        assert not is_read and "more elements" in str(wrong)
    else:
        assert is_read

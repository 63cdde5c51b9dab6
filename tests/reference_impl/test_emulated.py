"""`--emulate RELEASE`: what is advertised is what that release served, and nothing newer is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import confluent_kafka as ck
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from confluent_kafka.admin import AdminClient

from brokertrial.reference_impl import api
from brokertrial.reference_impl.settings import emulated
from brokertrial.wire import apis, errors
from brokertrial.wire.client import Connection
from brokertrial.wire.conversation import ConnectionClosed
from brokertrial.wire.messages import request
from tests.reference_impl.brokers import BrokerProcess, Deadline

Start = Callable[..., BrokerProcess]

# What each release serves up to, from Kafka's own message definitions; None: no such API.
KNOWN: dict[str, dict[str, int | None]] = {
    "2.1": {
        "Produce": 7,
        "Fetch": 10,
        "JoinGroup": 3,
        "ApiVersions": 2,
        "ListTransactions": None,
        "ElectLeaders": None,
    },
    "3.9": {"Produce": 11, "Fetch": 17, "EndTxn": 4, "ConsumerGroupHeartbeat": 0, "DescribeTopicPartitions": 0},
    "4.0": {"Produce": 12, "Fetch": 17, "EndTxn": 5, "ConsumerGroupHeartbeat": 1, "Metadata": 13, "OffsetCommit": 9},
    "4.2": {"Produce": 13, "Fetch": 18, "ListOffsets": 11, "OffsetCommit": 10, "DescribeLogDirs": 4},
}
FEATURES = {"3.9": (0, 0, 21), "4.0": (1, 2, 25), "4.2": (1, 2, 29)}


def connected(broker: BrokerProcess) -> Connection:
    return Connection("127.0.0.1", broker.port, client_id="emulated")


@pytest.mark.parametrize("release", KNOWN)
def test_a_release_advertises_what_it_had(release: str, start_broker: Start) -> None:
    broker = start_broker("--emulate", release)
    with connected(broker) as connection:
        version = KNOWN[release].get("ApiVersions") or 4
        asked = request("ApiVersions", client_software_name="t", client_software_version="1")
        answer = connection.call(asked, version=min(version, 4))
    offered = {apis.by_key(row.api_key).name: row.max_version for row in answer.api_keys}
    assert {name: offered.get(name) for name in KNOWN[release]} == KNOWN[release]
    if release in FEATURES:
        found = {f.name: f.max_version_level for f in answer.finalized_features}
        names = ("group.version", "transaction.version", "metadata.version")
        assert tuple(found.get(name, 0) for name in names) == FEATURES[release]


def test_a_newer_version_than_the_release_had_is_not_answered(start_broker: Start) -> None:
    broker = start_broker("--emulate", "2.1")
    with connected(broker) as connection:
        connection.send(request("Metadata", topics=[]), 8)
        with pytest.raises(ConnectionClosed):
            connection.receive(timeout_s=20)
    with connected(broker) as connection:
        connection.send(request("ApiVersions"), 3)
        assert connection.receive(timeout_s=20).struct.error_code == errors.UNSUPPORTED_VERSION


def test_every_release_names_apis_that_there_are() -> None:
    ours = {served.api.name for served in api.served().values()}
    for name, release in emulated.RELEASES.items():
        assert set(release.newest) <= ours, name


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(ValueError, match=r"4\.4 \(as built\) and 2\.1, 3\.9, 4\.0, 4\.2"):
        emulated.check("1.0")
    with pytest.raises(ValueError, match="followers need Fetch"):
        emulated.check("2.1", in_cluster=True)


@pytest.mark.parametrize("release", ["2.1", "3.9", "4.0"])
def test_librdkafka_gets_along_with_every_release(release: str, start_broker: Start) -> None:
    broker = start_broker("--emulate", release)
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "old"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("t", b"1")
    producer.commit_transaction(30)
    one = ck.Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest",
         "isolation.level": "read_committed"}
    )  # fmt: skip
    try:
        one.subscribe(["t"])
        deadline, message = Deadline("the record"), None
        while deadline and (message is None or message.error()):
            message = one.poll(0.2)
        assert message is not None and message.value() == b"1"
        one.commit(asynchronous=False)
        assert one.committed([ck.TopicPartition("t", 0)], 30)[0].offset == 1
    finally:
        one.close()
    assert "t" in AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=30).topics


def test_the_new_group_protocol_is_off_before_4_0(start_broker: Start) -> None:
    broker = start_broker("--emulate", "3.9")
    beat = request(
        "ConsumerGroupHeartbeat", group_id="g", member_id="", member_epoch=0, rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"], topic_partitions=[],
    )  # fmt: skip
    with connected(broker) as connection:
        assert connection.call(beat, version=0).error_code == errors.UNSUPPORTED_VERSION


def test_aiokafka_gets_along_with_2_1(start_broker: Start) -> None:
    broker = start_broker("--emulate", "2.1")

    async def talk() -> bytes | None:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, enable_idempotence=True)
        await producer.start()
        try:
            await producer.send_and_wait("aio", b"1", partition=0)
        finally:
            await producer.stop()
        reader = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest")
        await reader.start()
        try:
            reader.assign([TopicPartition("aio", 0)])
            await reader.seek_to_beginning()
            return (await reader.getone()).value  # type: ignore[no-any-return]
        finally:
            await reader.stop()

    assert asyncio.run(asyncio.wait_for(talk(), 60)) == b"1"

"""Unmodified clients against the running broker: produce, read back, administer."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)
from kafka.admin import NewTopic as OtherNewTopic

from tests.reference_impl.brokers import BrokerProcess, Deadline

VALUES = [b"value %d" % i for i in range(200)]


def fresh(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


def read_all(bootstrap: str, topic: str, count: int, **settings: Any) -> list[confluent_kafka.Message]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "auto.offset.reset": "earliest", **settings}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[confluent_kafka.Message] = []
    deadline = Deadline(f"{count} records of {topic}")
    while len(found) < count and deadline:
        message = consumer.poll(0.5)
        if message is not None:
            assert message.error() is None
            found.append(message)
    consumer.close()
    return found


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("idempotent", [True, False])
def test_confluent_kafka_reads_what_it_wrote(broker: BrokerProcess, codec: str, idempotent: bool) -> None:
    topic = fresh("confluent")
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap, "compression.type": codec, "enable.idempotence": idempotent}
    )
    acked: list[tuple[Any, int | None]] = []
    for value in VALUES:
        producer.produce(topic, value, key=b"k", on_delivery=lambda e, m: acked.append((e, m.offset())))
    assert producer.flush(30) == 0
    assert acked == [(None, offset) for offset in range(len(VALUES))]
    messages = read_all(broker.bootstrap, topic, len(VALUES))
    assert [(m.offset(), m.value()) for m in messages] == list(enumerate(VALUES))


def test_confluent_kafka_admin(broker: BrokerProcess) -> None:
    admin, topic = AdminClient({"bootstrap.servers": broker.bootstrap}), fresh("admin")
    admin.create_topics([NewTopic(topic, 2, 1, config={"retention.ms": "123456"})])[topic].result(20)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entries = admin.describe_configs([resource])[resource].result(20)
    assert entries["retention.ms"].value == "123456"
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(20)
    assert len(admin.list_topics(topic, 20).topics[topic].partitions) == 5
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
    for value in VALUES[:10]:
        producer.produce(topic, value, partition=3)
    assert producer.flush(20) == 0
    partition = confluent_kafka.TopicPartition(topic, 3)
    assert admin.list_offsets({partition: OffsetSpec.latest()})[partition].result(20).offset == 10
    deleted = admin.delete_records([confluent_kafka.TopicPartition(topic, 3, 4)])
    assert next(iter(deleted.values())).result(20).low_watermark == 4
    assert admin.list_offsets({partition: OffsetSpec.earliest()})[partition].result(20).offset == 4
    admin.delete_topics([topic])[topic].result(20)
    assert topic not in admin.list_topics(timeout=20).topics


def test_aiokafka_reads_what_it_wrote(broker: BrokerProcess) -> None:
    topic = fresh("aiokafka")

    async def both() -> list[tuple[int, bytes]]:
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=broker.bootstrap, enable_idempotence=True) as producer:
            for value in VALUES:
                await producer.send_and_wait(topic, value)
        async with aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            return [(m.offset, m.value) for m in [await consumer.getone() for _ in VALUES]]

    assert asyncio.run(asyncio.wait_for(both(), 60)) == list(enumerate(VALUES))


def test_kafka_python_reads_what_it_wrote_and_administers(broker: BrokerProcess) -> None:
    topic = fresh("kafka-python")
    admin = kafka.KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.create_topics([OtherNewTopic(topic, 1, 1)])
    producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap)
    sent = [producer.send(topic, value) for value in VALUES]
    assert [s.get(30).offset for s in sent] == list(range(len(VALUES)))
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=30_000
    )
    found = [(message.offset, message.value) for _, message in zip(VALUES, consumer, strict=False)]
    consumer.close()
    assert found == list(enumerate(VALUES))
    admin.delete_topics([topic])
    admin.close()


def test_everything_acknowledged_survives_kill_and_restart(start_broker: Any) -> None:
    broker = start_broker()
    acked: list[int | None] = []
    for round_number in range(3):
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
        for value in VALUES[:50]:
            producer.produce("t", value, on_delivery=lambda e, m: acked.append(m.offset()))
        assert producer.flush(30) == 0
        broker.kill() if round_number % 2 == 0 else broker.terminate()
        broker.start()
    assert acked == list(range(150))
    messages = read_all(broker.bootstrap, "t", 150)
    assert [(m.offset(), m.value()) for m in messages] == list(enumerate(VALUES[:50] * 3))

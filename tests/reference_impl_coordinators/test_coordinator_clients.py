"""Unmodified client libraries against the broker: groups, offsets, transactions, and all of it over a kill -9."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka as ck
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KTopicPartition
from kafka.structs import OffsetAndMetadata

from tests.reference_impl_coordinators.conftest import Process

DEADLINE_S = 30.0


def make_topic(bootstrap: str, name: str, partitions: int = 3) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})  # a name of its own: it must outlive its futures
    for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        future.result(DEADLINE_S)


def fill(bootstrap: str, topic: str, count: int, **config: Any) -> None:
    producer = ck.Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, **config})
    for number in range(count):
        producer.produce(topic, b"%d" % number, partition=number % 3)
    assert producer.flush(DEADLINE_S) == 0


@contextmanager
def consumer(bootstrap: str, group: str, **config: Any) -> Iterator[ck.Consumer]:
    one = ck.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
         "enable.auto.commit": False, "session.timeout.ms": 6000, "heartbeat.interval.ms": 200, **config}
    )  # fmt: skip
    try:
        yield one
    finally:
        one.close()


def poll_until(what: str, condition: Callable[[], bool], *consumers: ck.Consumer) -> list[bytes]:
    """Polls until the condition holds; returns what was read meanwhile."""
    seen: list[bytes] = []
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE_S:.0f} s for {what}; read {len(seen)}"
        for one in consumers:
            message = one.poll(0.05)
            if message is not None and not message.error():
                seen.append(message.value() or b"")
    return seen


def read(one: ck.Consumer, count: int) -> list[bytes]:
    seen: list[bytes] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(seen) < count:
        assert time.monotonic() < deadline, f"read {len(seen)} of {count} records within {DEADLINE_S:.0f} s"
        message = one.poll(0.1)
        if message is not None and not message.error():
            seen.append(message.value() or b"")
    return seen


def test_confluent_members_share_partitions_and_take_over(broker: str) -> None:
    make_topic(broker, "share")
    fill(broker, "share", 30)
    with consumer(broker, "share") as one:
        one.subscribe(["share"])
        poll_until("all partitions", lambda: len(one.assignment()) == 3, one)
        with consumer(broker, "share") as two:
            two.subscribe(["share"])
            poll_until("a division", lambda: sorted([len(one.assignment()), len(two.assignment())]) == [1, 2], one, two)
            owned = [p.partition for member in (one, two) for p in member.assignment()]
            assert sorted(owned) == [0, 1, 2]
        poll_until("the partitions of the one who left", lambda: len(one.assignment()) == 3, one)


def test_confluent_static_member_keeps_its_partitions(broker: str) -> None:
    make_topic(broker, "static")
    with consumer(broker, "static", **{"group.instance.id": "a"}) as one:
        one.subscribe(["static"])
        poll_until("all partitions", lambda: len(one.assignment()) == 3, one)
        before = _instances(broker, "static")
    with consumer(broker, "static", **{"group.instance.id": "a"}) as again:
        again.subscribe(["static"])
        poll_until("all partitions", lambda: len(again.assignment()) == 3, again)
        assert _instances(broker, "static") == before


def _instances(bootstrap: str, group: str) -> list[str]:
    """Who is in a group, by instance id."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    found = admin.describe_consumer_groups([group])[group].result(DEADLINE_S)
    return [member.group_instance_id for member in found.members]


def test_confluent_consumes_transforms_and_produces_exactly_once(broker: str) -> None:
    make_topic(broker, "in")
    make_topic(broker, "out")
    fill(broker, "in", 30)
    producer = ck.Producer({"bootstrap.servers": broker, "transactional.id": "etl"})
    producer.init_transactions(DEADLINE_S)
    with consumer(broker, "etl", **{"isolation.level": "read_committed"}) as source:
        source.subscribe(["in"])
        done, attempt = 0, 0
        while done < 30:
            attempt += 1
            batch = read(source, 5)
            producer.begin_transaction()
            for value in batch:
                producer.produce("out", value, partition=0)
            positions = [p for p in source.position(source.assignment()) if p.offset >= 0]
            producer.send_offsets_to_transaction(positions, source.consumer_group_metadata(), DEADLINE_S)
            if attempt % 3 == 0:
                producer.abort_transaction(DEADLINE_S)
                for place in source.committed(source.assignment(), DEADLINE_S):
                    source.seek(ck.TopicPartition("in", place.partition, max(place.offset, 0)))
            else:
                producer.commit_transaction(DEADLINE_S)
                done += len(batch)
    with consumer(broker, "out", **{"isolation.level": "read_committed"}) as sink:
        sink.assign([ck.TopicPartition("out", 0, 0)])
        assert sorted(map(int, read(sink, 30))) == list(range(30))
        assert sink.poll(0.3) is None


def test_confluent_fences_the_older_of_two_producers(broker: str) -> None:
    make_topic(broker, "fence")
    old = ck.Producer({"bootstrap.servers": broker, "transactional.id": "fence"})
    old.init_transactions(DEADLINE_S)
    old.begin_transaction()
    old.produce("fence", b"old", partition=0)
    old.flush(DEADLINE_S)
    new = ck.Producer({"bootstrap.servers": broker, "transactional.id": "fence"})
    new.init_transactions(DEADLINE_S)
    with pytest.raises(ck.KafkaException) as refused:
        old.commit_transaction(DEADLINE_S)
    assert refused.value.args[0].code() == ck.KafkaError._FENCED
    new.begin_transaction()
    new.produce("fence", b"new", partition=0)
    new.commit_transaction(DEADLINE_S)
    with consumer(broker, "fence", **{"isolation.level": "read_committed"}) as sink:
        sink.assign([ck.TopicPartition("fence", 0, 0)])
        assert read(sink, 1) == [b"new"]


def test_confluent_lives_through_a_kill_of_the_broker(process: Process) -> None:
    port = process.start().bootstrap.rsplit(":", 1)[1]
    make_topic(process.bootstrap, "kill")
    fill(process.bootstrap, "kill", 30)
    producer = ck.Producer({"bootstrap.servers": process.bootstrap, "transactional.id": "kill",
                            "reconnect.backoff.max.ms": 200})  # fmt: skip
    producer.init_transactions(DEADLINE_S)
    with consumer(process.bootstrap, "kill", **{"reconnect.backoff.max.ms": 200}) as one:
        one.subscribe(["kill"])
        read(one, 30)
        one.commit(asynchronous=False)
        producer.begin_transaction()
        producer.produce("kill", b"before", partition=0)
        assert producer.flush(DEADLINE_S) == 0
        process.kill()
        process.start("--port", port)
        producer.produce("kill", b"after", partition=0)
        producer.commit_transaction(DEADLINE_S)
        assert read(one, 2) == [b"before", b"after"]
        places = one.committed([ck.TopicPartition("kill", p) for p in range(3)], DEADLINE_S)
        assert [p.offset for p in places] == [10, 10, 10]
        poll_until("the group to be whole", lambda: len(one.assignment()) == 3, one)


async def _aiokafka(bootstrap: str) -> list[bytes]:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="aio")
    await producer.start()
    source = AIOKafkaConsumer(
        "aio", bootstrap_servers=bootstrap, group_id="aio", auto_offset_reset="earliest", enable_auto_commit=False,
        session_timeout_ms=6000, heartbeat_interval_ms=200,
    )  # fmt: skip
    await source.start()
    try:
        first = await source.getone()
        where = TopicPartition(first.topic, first.partition)
        async with producer.transaction():
            await producer.send_and_wait("aio-out", b"kept", partition=0)
            await producer.send_offsets_to_transaction({where: first.offset + 1}, "aio")
        with pytest.raises(ValueError, match="on purpose"):
            async with producer.transaction():
                await producer.send_and_wait("aio-out", b"dropped", partition=0)
                raise ValueError("on purpose")
        assert await source.committed(where) == first.offset + 1
        await source.commit({where: first.offset + 2})
        assert await source.committed(where) == first.offset + 2
    finally:
        await source.stop()
        await producer.stop()
    sink = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
    await sink.start()
    try:
        out = TopicPartition("aio-out", 0)
        sink.assign([out])
        await sink.seek_to_beginning(out)
        found = await sink.getmany(out, timeout_ms=5000)
        return [record.value for record in found[out]]
    finally:
        await sink.stop()


def test_aiokafka_groups_and_transactions(broker: str) -> None:
    make_topic(broker, "aio")
    make_topic(broker, "aio-out")
    fill(broker, "aio", 30)
    assert asyncio.run(asyncio.wait_for(_aiokafka(broker), 2 * DEADLINE_S)) == [b"kept"]


def test_kafka_python_groups_and_transactions(broker: str) -> None:
    make_topic(broker, "kp")
    fill(broker, "kp", 30)
    seen: list[bytes] = []
    together = threading.Barrier(2, timeout=DEADLINE_S)

    def member() -> None:
        one = KafkaConsumer(
            "kp", bootstrap_servers=broker, group_id="kp", auto_offset_reset="earliest", enable_auto_commit=False,
            session_timeout_ms=6000, heartbeat_interval_ms=200,
        )  # fmt: skip
        try:
            deadline = time.monotonic() + DEADLINE_S
            while len(set(seen)) < 30 and time.monotonic() < deadline:
                for records in one.poll(timeout_ms=100).values():
                    seen.extend(record.value for record in records)
                    one.commit()
            together.wait()
        finally:
            one.close()

    members = [threading.Thread(target=member) for _ in range(2)]
    for thread in members:
        thread.start()
    for thread in members:
        thread.join(2 * DEADLINE_S)
    assert sorted(set(map(int, seen))) == list(range(30))

    producer = KafkaProducer(bootstrap_servers=broker, transactional_id="kp")
    try:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("kp", b"kept", partition=0)
        producer.send_offsets_to_transaction({KTopicPartition("kp", 0): OffsetAndMetadata(99, "", -1)}, "kp-group")
        producer.commit_transaction()
    finally:
        producer.close()
    reader = KafkaConsumer(bootstrap_servers=broker, group_id="kp-group")
    try:
        assert reader.committed(KTopicPartition("kp", 0)) == 99
    finally:
        reader.close()

"""aiokafka: classic groups and transactions. Its loop runs in a thread of its own, so that heartbeats never wait."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError

from tests.e2e.clients.story import DEADLINE_S, PARTITIONS, Again, main

T = TypeVar("T")
QUICK = {"retry_backoff_ms": 50, "metadata_max_age_ms": 2000, "request_timeout_ms": 10_000}
CALL_S = 30.0
AT_THE_END = (KafkaError, TimeoutError, CancelledError)
"""What `stop` of aiokafka raises when a coordinator has just died; it is stopped all the same."""


class Loop:
    """Runs coroutines for who is not one."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __call__(self, work: Coroutine[Any, Any, T], seconds: float = CALL_S) -> T:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), self._loop).result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_S)


class AioMember:
    def __init__(self, run: Loop, bootstrap: str, group: str, topic: str) -> None:
        self._run, self._places = run, [TopicPartition(topic, number) for number in range(PARTITIONS)]
        self.consumer = run(self._started(bootstrap, group, topic), DEADLINE_S)

    async def _started(self, bootstrap: str, group: str, topic: str) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
            isolation_level="read_committed", session_timeout_ms=6000, heartbeat_interval_ms=200, **QUICK,
        )  # fmt: skip
        await consumer.start()
        return consumer

    def poll(self) -> list[bytes]:
        try:
            found = self._run(self.consumer.getmany(timeout_ms=200))
        except KafkaError:
            return []
        return [record.value for records in found.values() for record in records]

    def assigned(self) -> int:
        return len(self.consumer.assignment())

    def commit(self) -> None:
        try:
            self._run(self.consumer.commit())
        except (KafkaError, TimeoutError) as problem:
            raise Again(str(problem)) from problem

    def committed(self) -> int:
        try:
            return sum(self._run(self.consumer.committed(place)) or 0 for place in self._places)
        except (KafkaError, TimeoutError) as problem:
            raise Again(str(problem)) from problem

    async def places(self) -> dict[TopicPartition, int]:
        return {place: await self.consumer.position(place) for place in self.consumer.assignment()}

    async def go_back(self) -> None:
        for place in self.consumer.assignment():
            self.consumer.seek(place, await self.consumer.committed(place) or 0)

    def close(self) -> None:
        with contextlib.suppress(*AT_THE_END):
            self._run(self.consumer.stop())


class AioCopier:
    def __init__(self, run: Loop, bootstrap: str, source: str, target: str) -> None:
        self._run, self._bootstrap, self._source, self._sink = run, bootstrap, source, target
        self._producer, self._member = self._begin()

    def _begin(self) -> tuple[AIOKafkaProducer, AioMember]:
        producer = self._run(self._started(), DEADLINE_S)
        return producer, AioMember(self._run, self._bootstrap, "aiokafka-copy", self._source)

    async def _started(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap, transactional_id="aiokafka-copy", transaction_timeout_ms=20_000, **QUICK
        )
        await producer.start()
        return producer

    def step(self, aborts: Iterator[bool]) -> None:
        batch = self._member.poll()
        if not batch:
            return
        try:
            self._run(self._transaction(batch, abort=next(aborts)))
        except (KafkaError, TimeoutError):
            self._end()
            self._producer, self._member = self._begin()

    async def _transaction(self, batch: list[bytes], *, abort: bool) -> None:
        await self._producer.begin_transaction()
        for value in batch:
            await self._producer.send(self._sink, value)
        await self._producer.send_offsets_to_transaction(await self._member.places(), "aiokafka-copy")
        if not abort:
            await self._producer.commit_transaction()
            return
        await self._producer.abort_transaction()
        await self._member.go_back()

    def _end(self) -> None:
        self._member.close()
        with contextlib.suppress(*AT_THE_END):
            self._run(self._producer.stop())

    def committed(self) -> int:
        return self._member.committed()

    def close(self) -> None:
        self._end()


class AioClient:
    name = "aiokafka"
    protocols = ("classic",)

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap, self._run = bootstrap, Loop()

    def create(self, topics: list[str]) -> None:
        try:
            self._run(self._create(topics), DEADLINE_S)
        except (KafkaError, TimeoutError) as problem:
            raise Again(str(problem)) from problem

    async def _create(self, topics: list[str]) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await admin.start()
        try:
            brokers = (await admin.describe_cluster())["brokers"]
            for name in topics:
                with contextlib.suppress(TopicAlreadyExistsError):
                    await admin.create_topics([NewTopic(name, PARTITIONS, min(3, len(brokers)))])
        finally:
            await admin.close()

    def fill(self, topic: str, values: range) -> None:
        self._run(self._fill(topic, values), DEADLINE_S)

    async def _fill(self, topic: str, values: range) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=self._bootstrap, enable_idempotence=True, **QUICK)
        await producer.start()
        try:
            sent = [await producer.send(topic, b"%d" % value, partition=value % PARTITIONS) for value in values]
            await asyncio.gather(*sent)
        finally:
            await producer.stop()

    def member(self, protocol: str, topic: str) -> AioMember:
        return AioMember(self._run, self._bootstrap, topic, topic)

    def copier(self, source: str, target: str) -> AioCopier:
        return AioCopier(self._run, self._bootstrap, source, target)

    def close(self) -> None:
        self._run.stop()


if __name__ == "__main__":
    main(AioClient)

"""kafka-python: classic groups and transactions.

Version 3.0.12 loses a transactional request whose coordinator dies while it connects to it (`Sender`: an exception
there puts nothing back into the queue) and waits for ever: such a call is given up here, and the producer with it.
On a busy machine one of its consumers may never join: it sends Metadata alone, and its group is empty. It is given up
too when it has owned nothing for too long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaError, KafkaTimeoutError, TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata

from tests.e2e.clients.story import DEADLINE_S, PARTITIONS, Again, main

QUICK = {"reconnect_backoff_ms": 20, "reconnect_backoff_max_ms": 200, "retry_backoff_ms": 50}
CALL_S, LOST_S = 20.0, 30.0


def within_time(call: Callable[[], object]) -> None:
    """Does it, in a thread that may be left behind; KafkaTimeoutError when it takes too long."""
    done = Future[None]()

    def run() -> None:
        try:
            call()
            done.set_result(None)
        except BaseException as problem:  # noqa: BLE001  raised again where it is waited for
            done.set_exception(problem)

    threading.Thread(target=run, daemon=True).start()
    try:
        done.result(CALL_S)
    except TimeoutError as late:
        raise KafkaTimeoutError(f"not answered within {CALL_S:g} s") from late


class KafkaPythonMember:
    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self._bootstrap, self._group, self._topic = bootstrap, group, topic
        self._places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        self._begin()

    def _begin(self) -> None:
        self.consumer = KafkaConsumer(
            self._topic, bootstrap_servers=self._bootstrap, group_id=self._group, auto_offset_reset="earliest",
            enable_auto_commit=False, isolation_level="read_committed", session_timeout_ms=6000,
            heartbeat_interval_ms=200, max_poll_interval_ms=10_000, metadata_max_age_ms=2000, **QUICK,
        )  # fmt: skip
        self._owned_at = time.monotonic()

    def _begin_again_if_lost(self) -> None:
        if self.consumer.assignment():
            self._owned_at = time.monotonic()
        elif time.monotonic() > self._owned_at + LOST_S:
            with suppress(KafkaError):
                within_time(self.consumer.close)
            self._begin()

    def poll(self) -> list[bytes]:
        self._begin_again_if_lost()
        try:
            found = self.consumer.poll(timeout_ms=200)
        except KafkaError:
            return []
        return [record.value for records in found.values() for record in records]

    def assigned(self) -> int:
        return len(self.consumer.assignment())

    def commit(self) -> None:
        try:
            self.consumer.commit()
        except KafkaError as problem:
            raise Again(str(problem)) from problem

    def committed(self) -> int:
        try:
            return sum(self.consumer.committed(place) or 0 for place in self._places)
        except KafkaError as problem:
            raise Again(str(problem)) from problem

    def places(self) -> dict[TopicPartition, OffsetAndMetadata]:
        return {place: OffsetAndMetadata(self.consumer.position(place), "", -1) for place in self.consumer.assignment()}

    def go_back(self) -> None:
        for place in self.consumer.assignment():
            self.consumer.seek(place, self.consumer.committed(place) or 0)

    def close(self) -> None:
        self.consumer.close()


class KafkaPythonCopier:
    def __init__(self, bootstrap: str, source: str, target: str) -> None:
        self._bootstrap, self._source, self._sink = bootstrap, source, target
        self._producer, self._member = self._begin()

    def _begin(self) -> tuple[Any, KafkaPythonMember]:
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap, transactional_id="kafka-python-copy", transaction_timeout_ms=20_000,
            metadata_max_age_ms=2000, **QUICK,
        )  # fmt: skip
        producer.init_transactions()
        return producer, KafkaPythonMember(self._bootstrap, "kafka-python-copy", self._source)

    def step(self, aborts: Iterator[bool]) -> None:
        batch = self._member.poll()
        if not batch:
            return
        try:
            self._producer.begin_transaction()
            for value in batch:
                self._producer.send(self._sink, value)
            places, group = self._member.places(), self._member.consumer.group_metadata()
            within_time(lambda: self._producer.send_offsets_to_transaction(places, group))
            if not next(aborts):
                within_time(self._producer.commit_transaction)
                return
            within_time(self._producer.abort_transaction)
            self._member.go_back()
        except KafkaError:
            self._end()
            self._producer, self._member = self._begin()

    def _end(self) -> None:
        self._member.close()
        self._producer.close(timeout=1)

    def committed(self) -> int:
        return self._member.committed()

    def close(self) -> None:
        self._end()


class KafkaPythonClient:
    name = "kafka-python"
    protocols = ("classic",)

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create(self, topics: list[str]) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self._bootstrap, **QUICK)
        try:
            for name in topics:
                try:
                    admin.create_topics([NewTopic(name, PARTITIONS, -1)])
                except TopicAlreadyExistsError:
                    continue
                except KafkaError as problem:
                    raise Again(str(problem)) from problem
        finally:
            admin.close()

    def fill(self, topic: str, values: range) -> None:
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap, acks="all", enable_idempotence=True, metadata_max_age_ms=2000, **QUICK
        )
        try:
            sent = [producer.send(topic, b"%d" % value, partition=value % PARTITIONS) for value in values]
            for one in sent:
                one.get(DEADLINE_S)
        finally:
            producer.close(timeout=5)

    def member(self, protocol: str, topic: str) -> KafkaPythonMember:
        return KafkaPythonMember(self._bootstrap, topic, topic)

    def copier(self, source: str, target: str) -> KafkaPythonCopier:
        return KafkaPythonCopier(self._bootstrap, source, target)

    def close(self) -> None:
        """Nothing is left."""


if __name__ == "__main__":
    main(KafkaPythonClient)

"""confluent-kafka (librdkafka): both group protocols and transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.e2e.clients.story import DEADLINE_S, PARTITIONS, Again, main

QUICK = {"reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50, "log_level": 0}
CALL_S = 10.0


class ConfluentMember:
    def __init__(self, bootstrap: str, protocol: str, group: str, topic: str) -> None:
        timers = {} if protocol == "consumer" else {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200}
        self.consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": protocol,
             "auto.offset.reset": "earliest", "enable.auto.commit": False, "isolation.level": "read_committed",
             "max.poll.interval.ms": 10_000, **timers, **QUICK}
        )  # fmt: skip
        self.consumer.subscribe([topic])
        self._places = [TopicPartition(topic, number) for number in range(PARTITIONS)]

    def poll(self) -> list[bytes]:
        return [one.value() or b"" for one in self.consumer.consume(100, 0.2) if not one.error()]

    def assigned(self) -> int:
        return len(self.consumer.assignment())

    def commit(self) -> None:
        try:
            self.consumer.commit(asynchronous=False)
        except KafkaException as problem:
            raise Again(str(problem)) from problem

    def committed(self) -> int:
        try:
            return sum(max(place.offset, 0) for place in self.consumer.committed(self._places, CALL_S))
        except KafkaException as problem:
            raise Again(str(problem)) from problem

    def close(self) -> None:
        self.consumer.close()


class ConfluentCopier:
    def __init__(self, bootstrap: str, source: str, target: str) -> None:
        self._bootstrap, self._source, self._sink = bootstrap, source, target
        self._producer, self._member = self._begin()

    def _begin(self) -> tuple[Producer, ConfluentMember]:
        settings = {"bootstrap.servers": self._bootstrap, "transactional.id": "confluent-copy", **QUICK}
        producer = Producer(settings | {"transaction.timeout.ms": 20_000})
        producer.init_transactions(DEADLINE_S)
        return producer, ConfluentMember(self._bootstrap, "consumer", "confluent-copy", self._source)

    def step(self, aborts: Iterator[bool]) -> None:
        batch = self._member.poll()
        if not batch:
            return
        producer, consumer = self._producer, self._member.consumer
        try:
            producer.begin_transaction()
            for value in batch:
                producer.produce(self._sink, value)
            places = [place for place in consumer.position(consumer.assignment()) if place.offset >= 0]
            producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), CALL_S)
            if not next(aborts):
                producer.commit_transaction(CALL_S)
                return
            producer.abort_transaction(CALL_S)
            for place in consumer.committed(consumer.assignment(), CALL_S):
                consumer.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))
        except KafkaException:
            self._member.close()
            self._producer, self._member = self._begin()

    def committed(self) -> int:
        return self._member.committed()

    def close(self) -> None:
        self._member.close()


class ConfluentClient:
    name = "confluent"
    protocols = ("classic", "consumer")

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create(self, topics: list[str]) -> None:
        admin = AdminClient({"bootstrap.servers": self._bootstrap, **QUICK})
        for done in admin.create_topics([NewTopic(name, PARTITIONS, -1) for name in topics]).values():
            try:
                done.result(DEADLINE_S)
            except KafkaException as problem:
                if "TOPIC_ALREADY_EXISTS" not in problem.args[0].name():
                    raise Again(str(problem)) from problem

    def fill(self, topic: str, values: range) -> None:
        refused: list[Any] = []
        producer = Producer({"bootstrap.servers": self._bootstrap, "enable.idempotence": True, **QUICK})
        for value in values:
            producer.produce(
                topic, b"%d" % value, partition=value % PARTITIONS,
                on_delivery=lambda error, _: refused.append(error) if error else None,
            )  # fmt: skip
        assert producer.flush(DEADLINE_S) == 0 and not refused, f"not acknowledged: {refused}"

    def member(self, protocol: str, topic: str) -> ConfluentMember:
        return ConfluentMember(self._bootstrap, protocol, topic, topic)

    def copier(self, source: str, target: str) -> ConfluentCopier:
        return ConfluentCopier(self._bootstrap, source, target)

    def close(self) -> None:
        """Nothing is left."""


if __name__ == "__main__":
    main(ConfluentClient)

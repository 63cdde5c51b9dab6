"""Producers send unique values to all partitions; readers follow, and one of them reads again from the start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaException

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.workloads.asker import ask_for_ends
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.reader import Reader
from brokertrial.suites.workloads.sending import send_steadily
from brokertrial.suites.workloads.workload import Actor, TopicPlan, Workload
from brokertrial.suites.workloads.writer import RecordProducer


@dataclass(frozen=True)
class SendAndRead(Workload):
    """The plain workload: what is acknowledged must be there, once if idempotent, in order, for everyone the same."""

    producers: int = 4
    readers_: int = 2
    askers: int = 0
    """Clients that ask for the ends of the partitions."""
    partitions: int = 3
    idempotent: bool = True
    acks: int = -1
    retries: int | None = None
    rate: float = 200.0
    """Records a second of each producer."""
    size: int = 64
    compression: str = "none"
    configs: tuple[tuple[str, str], ...] = ()
    """Settings of the topic."""
    in_flight: int | None = None
    """Requests in flight on a connection; ONE_AT_A_TIME where leaders change."""
    answer_within_ms: int | None = None
    """How long producers wait for an answer; None: about a second longer than they let the leader wait for replicas."""

    @property
    def topics(self) -> tuple[TopicPlan, ...]:
        return (TopicPlan("topic", self.partitions, self.configs),)

    @property
    def apis(self) -> dict[str, int]:
        return {"InitProducerId": 0} if self.idempotent else {}

    def clients(self, context: WorkloadContext, names: dict[str, str]) -> list[Actor]:
        writers = [
            Actor(f"producer-{n}", context, partial(self._write, context, f"producer-{n}"))
            for n in range(1, self.producers + 1)
        ]
        readers = [
            Actor(f"consumer-{n}", context, partial(self._read, context, n)) for n in range(1, self.readers_ + 1)
        ]
        askers = [
            Actor(f"asker-{n}", context, partial(ask_for_ends, context, f"asker-{n}"))
            for n in range(1, self.askers + 1)
        ]
        return writers + readers + askers

    def must_move(self, context: WorkloadContext) -> list[str]:
        return [f"sends to {topic}-{partition}" for topic, partition in context.places]

    def readers(self, context: WorkloadContext) -> dict[str, dict[PartitionId, int]]:
        return {f"consumer-{n}": context.acked_offsets() for n in range(1, self.readers_ + 1)}

    def _write(self, context: WorkloadContext, name: str) -> None:
        send_steadily(context, name, self.rate, context.places, partial(self._writer, context))

    def _writer(self, context: WorkloadContext, client: str) -> RecordProducer:
        return RecordProducer(
            context,
            client,
            idempotent=self.idempotent,
            acks=self.acks,
            retries=self.retries,
            size=self.size,
            compression=self.compression,
            in_flight=self.in_flight,
            answer_within_ms=self.answer_within_ms,
        )

    def _read(self, context: WorkloadContext, number: int) -> None:
        rng = context.random(f"consumer-{number}")
        reader = Reader(context, f"consumer-{number}")
        reader.assign(context.places)
        polls = 0
        while not context.stopping.is_set():
            reader.poll()
            polls += 1
            if number == 1 and polls % 40 == 0:
                try:
                    reader.rewind(rng.choice(context.places))
                except KafkaException:
                    pass  # not assigned yet: the next time
        reader.close()

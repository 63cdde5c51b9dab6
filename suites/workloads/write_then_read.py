"""Producers write and then rest; a reader that comes later is given all of it, though nobody writes any more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.workloads.asker import ask_for_ends
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.fresh import Fresh
from brokertrial.suites.workloads.reader import Reader
from brokertrial.suites.workloads.sending import ONE_AT_A_TIME
from brokertrial.suites.workloads.workload import Actor, TopicPlan, Workload
from brokertrial.suites.workloads.writer import RecordProducer

LATE = "consumer-late"
LOOK_S = 0.02


@dataclass(frozen=True)
class WriteThenRead(Workload):
    """What is committed can be read without another record being written.

    Clients ask for the ends all along, so that client calls go on while nobody writes: a schedule counts them.
    """

    producers: int = 2
    partitions: int = 3
    askers: int = 3
    rate: float = 200.0
    """Records a second of each producer."""
    records: int = 600
    """Acknowledged in all before the producers rest."""
    late_at: int = 1_600
    """The client call with which the reader begins."""

    @property
    def topics(self) -> tuple[TopicPlan, ...]:
        return (TopicPlan("topic", self.partitions),)

    @property
    def apis(self) -> dict[str, int]:
        return {"InitProducerId": 0}

    def clients(self, context: WorkloadContext, names: dict[str, str]) -> list[Actor]:
        writers = [
            Actor(f"producer-{n}", context, partial(self._write, context, f"producer-{n}"))
            for n in range(1, self.producers + 1)
        ]
        askers = [
            Actor(f"asker-{n}", context, partial(ask_for_ends, context, f"asker-{n}"))
            for n in range(1, self.askers + 1)
        ]
        return [*writers, *askers, Actor(LATE, context, partial(self._read, context))]

    def must_move(self, context: WorkloadContext) -> list[str]:
        return []

    def readers(self, context: WorkloadContext) -> dict[str, dict[PartitionId, int]]:
        return {LATE: context.acked_offsets()}

    def fresh(self, fresh: Fresh, context: WorkloadContext, names: dict[str, str], lags: list[Lagging]) -> None:
        """Only reads: a record more might be what lets the others be seen."""
        fresh.read(lags)

    def _write(self, context: WorkloadContext, name: str) -> None:
        rng = context.random(name)
        writer = RecordProducer(context, name, idempotent=True, in_flight=ONE_AT_A_TIME)
        try:
            while context.acked < self.records and not context.stopping.is_set():
                writer.send(rng.choice(context.places))
                writer.poll(rng.expovariate(self.rate))
        finally:
            writer.close()

    def _read(self, context: WorkloadContext) -> None:
        while context.clock.operations() < self.late_at:
            if context.stopping.wait(LOOK_S):
                return
        reader = Reader(context, LATE)
        reader.assign(context.places)
        while not context.stopping.is_set():
            reader.poll()
        reader.close()

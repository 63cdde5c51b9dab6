"""Groups commit offsets with a name of their own in the metadata, and ask for them: a register for each partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import confluent_kafka
from confluent_kafka import Consumer, TopicPartition

from brokertrial.histories.rows import Client, PartitionId
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.fresh import Fresh
from brokertrial.suites.workloads.operation import RecordedCall
from brokertrial.suites.workloads.sending import bystanders
from brokertrial.suites.workloads.workload import Actor, TopicPlan, Workload

CALL_S = 5.0
NO_OFFSET = -1


@dataclass(frozen=True)
class Commits(Workload):
    """One writer a register, several askers; offsets go up and down, so that only the last commit is right.

    Plain producers send to the same partitions meanwhile, also while the coordinator answers nobody. They are not
    idempotent: a broker without InitProducerId has commits too.
    """

    registers: int = 4
    askers: int = 2
    rate: float = 60.0
    producers: int = 2
    sends: float = 80.0
    """Records a second of each producer."""

    @property
    def topics(self) -> tuple[TopicPlan, ...]:
        return (TopicPlan("topic", self.registers),)

    @property
    def groups(self) -> tuple[str, ...]:
        return ("group",)

    @property
    def apis(self) -> dict[str, int]:
        return {"OffsetCommit": 2, "OffsetFetch": 2, "FindCoordinator": 0}

    def clients(self, context: WorkloadContext, names: dict[str, str]) -> list[Actor]:
        group = names["group"]
        writers = [
            Actor(f"committer-{n}", context, partial(self._commit, context, f"committer-{n}", group, place))
            for n, place in enumerate(context.places, 1)
        ]
        askers = [
            Actor(f"asker-{n}", context, partial(self._ask, context, f"asker-{n}", group))
            for n in range(1, self.askers + 1)
        ]
        return writers + askers + bystanders(context, self.producers, self.sends, idempotent=False)

    def must_move(self, context: WorkloadContext) -> list[str]:
        return [f"commits of {topic}-{partition}" for topic, partition in context.places]

    def fresh(self, fresh: Fresh, context: WorkloadContext, names: dict[str, str], lags: list[Lagging]) -> None:
        fresh.commit(names["group"], context.places)
        fresh.send(context.places)

    def _commit(self, context: WorkloadContext, name: str, group: str, place: PartitionId) -> None:
        rng = context.random(name)
        consumer = _member(context, name, group)
        while not context.stopping.wait(rng.expovariate(self.rate)):
            commit_id = context.next_commit()
            offset = rng.randrange(1_000_000)
            wanted = TopicPartition(place[0], place[1], offset, metadata=str(commit_id))
            with context.call("commit", name, place, committed_offset=offset, commit_id=commit_id, group=group) as call:
                for part in consumer.commit(offsets=[wanted], asynchronous=False):
                    if part.error is not None:
                        call.unknown(part.error.code())
            if call.row.outcome == "ok":
                context.acknowledged(f"commits of {place[0]}-{place[1]}")
        consumer.close()

    def _ask(self, context: WorkloadContext, name: str, group: str) -> None:
        rng = context.random(name)
        consumer = _member(context, name, group)
        wanted = [TopicPartition(topic, partition) for topic, partition in context.places]
        while not context.stopping.wait(rng.expovariate(self.rate)):
            with context.call("committed", name, group=group) as call:
                found = consumer.committed(wanted, timeout=CALL_S)
                call.returned()
                for part in found:
                    _found(call, part)
            if call.row.outcome == "ok":
                context.acknowledged("questions")
        consumer.close()


def _member(context: WorkloadContext, client: str, group: str) -> Consumer:
    context.recorder.add(
        Client(
            client=client,
            library="librdkafka",
            version=confluent_kafka.libversion()[0],
            mode="none",
            group=group,
            isolation="read_uncommitted",
            auto_commit=False,
        )
    )
    return Consumer(context.consumer_settings(client, **{"group.id": group}))


def _found(call: RecordedCall, part: TopicPartition) -> None:
    offset = part.offset if part.offset >= 0 else NO_OFFSET
    name = part.metadata if offset >= 0 and part.metadata and part.metadata.isdigit() else None
    call.on(
        (part.topic, part.partition),
        outcome="ok" if part.error is None else "info",
        committed_offset=offset,
        commit_id=None if name is None else int(name),
    )

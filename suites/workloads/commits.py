"""Groups commit offsets with a name of their own in the metadata, and ask for them: a register for each partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, TopicPartition

from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Client, Operation, PartitionId
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.fresh import Fresh
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
            Actor(f"c{n}", context, partial(self._commit, context, f"c{n}", group, place))
            for n, place in enumerate(context.places, 1)
        ]
        askers = [
            Actor(f"a{n}", context, partial(self._ask, context, f"a{n}", group)) for n in range(1, self.askers + 1)
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
            op, _ = context.recorder.next_op(), context.clock.tick()
            wanted = TopicPartition(place[0], place[1], offset, metadata=str(commit_id))
            call_ns = now_ns()
            outcome, error = "ok", None
            try:
                for part in consumer.commit(offsets=[wanted], asynchronous=False):
                    if part.error is not None:
                        outcome, error = "info", part.error.code()
            except KafkaException as problem:
                outcome, error = "info", problem.args[0].code()
            context.recorder.add(
                Operation(
                    op=op,
                    client=name,
                    kind="commit",
                    topic=place[0],
                    partition=place[1],
                    call_ns=call_ns,
                    return_ns=now_ns(),
                    outcome=outcome,
                    error=error if error is not None and error > 0 else None,
                    committed_offset=offset,
                    commit_id=commit_id,
                    group=group,
                )
            )
            if outcome == "ok":
                context.acknowledged(f"commits of {place[0]}-{place[1]}")
        consumer.close()

    def _ask(self, context: WorkloadContext, name: str, group: str) -> None:
        rng = context.random(name)
        consumer = _member(context, name, group)
        wanted = [TopicPartition(topic, partition) for topic, partition in context.places]
        while not context.stopping.wait(rng.expovariate(self.rate)):
            op, _ = context.recorder.next_op(), context.clock.tick()
            call_ns = now_ns()
            try:
                found = consumer.committed(wanted, timeout=CALL_S)
            except KafkaException as problem:
                context.recorder.add(
                    Operation(
                        op=op,
                        client=name,
                        kind="committed",
                        call_ns=call_ns,
                        return_ns=now_ns(),
                        outcome="info",
                        error=_positive(problem),
                        group=group,
                    )
                )
                continue
            return_ns = now_ns()
            for part in found:
                context.recorder.add(_told(op, name, group, part, call_ns, return_ns))
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


def _told(op: int, client: str, group: str, part: TopicPartition, call_ns: int, return_ns: int) -> Operation:
    offset = part.offset if part.offset >= 0 else NO_OFFSET
    name = part.metadata if offset >= 0 and part.metadata and part.metadata.isdigit() else None
    return Operation(
        op=op,
        client=client,
        kind="committed",
        topic=part.topic,
        partition=part.partition,
        call_ns=call_ns,
        return_ns=return_ns,
        outcome="ok" if part.error is None else "info",
        committed_offset=offset,
        commit_id=None if name is None else int(name),
        group=group,
    )


def _positive(problem: KafkaException) -> int | None:
    code = problem.args[0].code()
    return code if code > 0 else None

"""Groups commit offsets with a name of their own in the metadata, and ask for them: a register for each partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, TopicPartition

from histories.clock import now_ns
from histories.rows import Client, Operation
from suites.workloads.fresh import Fresh
from suites.workloads.sending import bystanders
from suites.workloads.stage import Lagging, Place, Stage
from suites.workloads.workload import Actor, TopicPlan, Workload

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

    def clients(self, stage: Stage, names: dict[str, str]) -> list[Actor]:
        group = names["group"]
        writers = [
            Actor(f"c{n}", stage, partial(self._commit, stage, f"c{n}", group, place))
            for n, place in enumerate(stage.places, 1)
        ]
        askers = [Actor(f"a{n}", stage, partial(self._ask, stage, f"a{n}", group)) for n in range(1, self.askers + 1)]
        return writers + askers + bystanders(stage, self.producers, self.sends, idempotent=False)

    def must_move(self, stage: Stage) -> list[str]:
        return [f"commits of {topic}-{partition}" for topic, partition in stage.places]

    def fresh(self, fresh: Fresh, stage: Stage, names: dict[str, str], lags: list[Lagging]) -> None:
        fresh.commit(names["group"], stage.places)
        fresh.send(stage.places)

    def _commit(self, stage: Stage, name: str, group: str, place: Place) -> None:
        rng = stage.random(name)
        consumer = _member(stage, name, group)
        while not stage.stopping.wait(rng.expovariate(self.rate)):
            commit_id = stage.next_commit()
            offset = rng.randrange(1_000_000)
            op, _ = stage.recorder.next_op(), stage.clock.tick()
            wanted = TopicPartition(place[0], place[1], offset, metadata=str(commit_id))
            call_ns = now_ns()
            outcome, error = "ok", None
            try:
                for part in consumer.commit(offsets=[wanted], asynchronous=False):
                    if part.error is not None:
                        outcome, error = "info", part.error.code()
            except KafkaException as problem:
                outcome, error = "info", problem.args[0].code()
            stage.recorder.add(
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
                stage.acknowledged(f"commits of {place[0]}-{place[1]}")
        consumer.close()

    def _ask(self, stage: Stage, name: str, group: str) -> None:
        rng = stage.random(name)
        consumer = _member(stage, name, group)
        wanted = [TopicPartition(topic, partition) for topic, partition in stage.places]
        while not stage.stopping.wait(rng.expovariate(self.rate)):
            op, _ = stage.recorder.next_op(), stage.clock.tick()
            call_ns = now_ns()
            try:
                found = consumer.committed(wanted, timeout=CALL_S)
            except KafkaException as problem:
                stage.recorder.add(
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
                stage.recorder.add(_told(op, name, group, part, call_ns, return_ns))
            stage.acknowledged("questions")
        consumer.close()


def _member(stage: Stage, client: str, group: str) -> Consumer:
    stage.recorder.add(
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
    return Consumer(stage.consumer_settings(client, **{"group.id": group}))


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

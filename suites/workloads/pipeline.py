"""Consume, produce, commit without transactions: what a group has committed as done is in the output at least once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from brokertrial.suites.workloads.committing import commit_positions
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.copying import Copying
from brokertrial.suites.workloads.fresh import Fresh
from brokertrial.suites.workloads.group_churn import MOST_BETWEEN_POLLS_MS, SESSION_S
from brokertrial.suites.workloads.reader import Reader, Stream
from brokertrial.suites.workloads.sending import ONE_AT_A_TIME, bystanders
from brokertrial.suites.workloads.workload import Actor
from brokertrial.suites.workloads.writer import RecordProducer

READER = "the pipeline"
COPIED = "copies"
ACKNOWLEDGED_S = 30.0
"""For the copies of one poll; a member that waits for longer begins anew where the group stands."""


@dataclass(frozen=True)
class Pipeline(Copying):
    """Each member copies what a poll brought, waits until all of it is acknowledged, and commits then.

    Twice is right: a member that fell out between the two leaves the copies to be made again.
    """

    reader = READER
    members: int = 3
    producers: int = 2
    partitions: int = 4
    rate: float = 100.0
    """Inputs a second of each producer."""

    @property
    def apis(self) -> dict[str, int]:
        return {"FindCoordinator": 0, "OffsetCommit": 2, "OffsetFetch": 2, "InitProducerId": 0, "JoinGroup": 0}

    def clients(self, context: WorkloadContext, names: dict[str, str]) -> list[Actor]:
        inputs = [place for place in context.places if place[0] == names["topic"]]
        members = [
            Actor(f"member-{n}", context, partial(self._take_part, context, n, names))
            for n in range(1, self.members + 1)
        ]
        return members + bystanders(context, self.producers, self.rate, inputs)

    def must_move(self, context: WorkloadContext) -> list[str]:
        return [COPIED]

    def fresh(self, fresh: Fresh, context: WorkloadContext, names: dict[str, str], lags: list[Lagging]) -> None:
        fresh.send(context.places)
        fresh.join(names["group"], [names["topic"]], commits=False)
        fresh.read(lags)

    def _take_part(self, context: WorkloadContext, number: int, names: dict[str, str]) -> None:
        rng = context.random(f"member-{number}")
        life = 0
        while not context.stopping.is_set():
            life += 1
            member = _PipelineMember(context, f"member-{number}.{life}", names)
            try:
                while not context.stopping.is_set() and member.works(rng):
                    pass
            finally:
                member.close()


class _PipelineMember:
    """One consumer with one idempotent producer; both are given up together."""

    def __init__(self, context: WorkloadContext, client: str, names: dict[str, str]) -> None:
        self.context, self.client, self.group = context, client, names["group"]
        self.outputs = [place for place in context.places if place[0] == names["output"]]
        self.writer = RecordProducer(context, f"{client}-out", in_flight=ONE_AT_A_TIME)
        settings: dict[str, Any] = {
            "session.timeout.ms": SESSION_S * 1_000,
            "heartbeat.interval.ms": 500,
            "max.poll.interval.ms": MOST_BETWEEN_POLLS_MS,
        }
        self.reader = Reader(context, client, group=self.group, mode="subscribe", reset="earliest", **settings)
        self.reader.consumer.subscribe([names["topic"]], on_assign=self._assigned)

    def _assigned(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        for part in parts:
            self.reader.streams[part.topic, part.partition] = Stream(self.context.next_stream(), None)

    def works(self, rng: Random) -> bool:
        """One poll, its copies, its commit; False when the member must begin anew."""
        batch = self.reader.poll()
        ends = {place: (self.reader.streams[place].prev or 0) + 1 for place in batch}
        for values in batch.values():
            for value in values:
                self.writer.send(rng.choice(self.outputs), derived_from=value)
        self.writer.flush(ACKNOWLEDGED_S)
        if self.writer.waiting or self.writer.unsure or self.writer.fatal:
            return False
        positions = [TopicPartition(topic, partition, end) for (topic, partition), end in ends.items()]
        if positions and commit_positions(self.context, self.reader.consumer, self.client, self.group, positions):
            for place, end in ends.items():
                self.context.seen(READER, place, end - 1)
            self.context.acknowledged(COPIED, 0)
        return True

    def close(self) -> None:
        """Leaves the group, and waits for the answers that are due yet."""
        self.reader.close()
        self.writer.close()

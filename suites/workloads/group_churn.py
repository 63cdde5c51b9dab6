"""Members of one group come and go while producers send: ownership and at-least-once delivery."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from brokertrial.histories.clock import now_ns
from brokertrial.histories.rows import Membership, PartitionId
from brokertrial.suites.workloads.committing import commit_positions
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.fresh import Fresh
from brokertrial.suites.workloads.reader import Reader, Stream
from brokertrial.suites.workloads.sending import send_steadily
from brokertrial.suites.workloads.workload import Actor, TopicPlan, Workload

MOST_BETWEEN_POLLS_MS = 15_000
"""After which a member that hangs in a call of the library is expelled, so that it holds up no rebalance for longer."""
LETTERS = "abcdefgh"
SESSION_S = 6


@dataclass(frozen=True)
class GroupChurn(Workload):
    """Each member commits what it has processed before it polls again; one after the other leaves and comes back."""

    members: int = 3
    producers: int = 2
    partitions: int = 4
    rate: float = 120.0
    stay_s: float = 1.5
    protocol: str = "classic"

    @property
    def topics(self) -> tuple[TopicPlan, ...]:
        return (TopicPlan("topic", self.partitions),)

    @property
    def groups(self) -> tuple[str, ...]:
        return ("group",)

    @property
    def apis(self) -> dict[str, int]:
        named = {"FindCoordinator": 0, "OffsetCommit": 2, "OffsetFetch": 2, "InitProducerId": 0}
        return named | ({"ConsumerGroupHeartbeat": 0} if self.protocol == "consumer" else {"JoinGroup": 0})

    def clients(self, context: WorkloadContext, names: dict[str, str]) -> list[Actor]:
        writers = [
            Actor(f"producer-{n}", context, partial(send_steadily, context, f"producer-{n}", self.rate, context.places))
            for n in range(1, self.producers + 1)
        ]
        members = [
            Actor(f"member-{n}", context, partial(self._take_part, context, n, names["group"]))
            for n in range(1, self.members + 1)
        ]
        return writers + members

    def must_move(self, context: WorkloadContext) -> list[str]:
        return [f"sends to {topic}-{partition}" for topic, partition in context.places] + ["deliveries to the group"]

    def readers(self, context: WorkloadContext) -> dict[str, dict[PartitionId, int]]:
        return {"the group": context.acked_offsets()}

    def fresh(self, fresh: Fresh, context: WorkloadContext, names: dict[str, str], lags: list[Lagging]) -> None:
        fresh.send(context.places)
        if self.protocol == "consumer":
            fresh.beat(names["group"], list(context.topics))
        else:
            fresh.join(names["group"], list(context.topics))
        fresh.read(lags)

    def _take_part(self, context: WorkloadContext, number: int, group: str) -> None:
        rng = context.random(f"member-{number}")
        life = 0
        while not context.stopping.is_set():
            life += 1
            stays_s = rng.uniform(0.5, 1.5) * self.stay_s if number > 1 else 1e9
            # the first letter decides where an assignor that sorts puts it: each life somewhere else
            name = f"{rng.choice(LETTERS)}-member-{number}.{life}"
            member = _ChurnMember(context, name, group, self.protocol)
            member.work(stays_s)
            context.stopping.wait(rng.uniform(0.2, 1.0))


class _ChurnMember:
    """One life of a member, from subscribe to close."""

    def __init__(self, context: WorkloadContext, client: str, group: str, protocol: str) -> None:
        self.context = context
        self.client = client
        self.group = group
        self._since: dict[PartitionId, int] = {}
        self._timer = threading.Event()
        more: dict[str, Any] = (
            {"group.protocol": protocol}
            if protocol == "consumer"
            else {
                "session.timeout.ms": SESSION_S * 1_000,
                "heartbeat.interval.ms": 500,
            }
        )
        self.reader = Reader(
            context, client, group=group, mode="subscribe", reset="earliest",
            **{"max.poll.interval.ms": MOST_BETWEEN_POLLS_MS, **more},
        )  # fmt: skip

    def work(self, seconds: float) -> None:
        """Polls, processes and commits until its time is over."""
        until_ns = now_ns() + int(seconds * 1e9)
        self.reader.consumer.subscribe(
            list(self.context.topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        try:
            while not self.context.stopping.is_set() and now_ns() < until_ns:
                if delivered := self.reader.poll():
                    self._processed(delivered)
        finally:
            self._ended(list(self._since), "closed")
            self.reader.close()

    def _processed(self, delivered: dict[PartitionId, list[int]]) -> None:
        positions = []
        for place in delivered:
            stream = self.reader.streams[place]
            last = stream.prev if stream.prev is not None else -1
            positions.append(TopicPartition(place[0], place[1], last + 1))
            self.context.seen("the group", place, last)
        self.context.acknowledged("deliveries to the group", 0)
        commit_positions(self.context, self.reader.consumer, self.client, self.group, positions)

    def _assigned(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        for part in parts:
            place = (part.topic, part.partition)
            self._since[place] = now_ns()
            self.reader.streams[place] = Stream(self.context.next_stream(), None)
        self.context.assigned(self.client, self.group, len(parts))

    def _revoked(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        self._ended([(part.topic, part.partition) for part in parts], "revoked")

    def _lost(self, consumer: Consumer, parts: list[TopicPartition]) -> None:
        self._ended([(part.topic, part.partition) for part in parts], "lost")

    def _ended(self, places: list[PartitionId], how: str) -> None:
        for place in places:
            since = self._since.pop(place, None)
            if since is not None:
                self.context.recorder.add(
                    Membership(
                        group=self.group,
                        member=self.client,
                        client=self.client,
                        generation=-1,
                        topic=place[0],
                        partition=place[1],
                        from_ns=since,
                        until_ns=now_ns(),
                        ended_by=how,
                    )
                )

"""Consume, transform, produce: members of a group copy a topic to another, the offsets inside the transactions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from random import Random

from confluent_kafka import KafkaException, TopicPartition

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.copying import Copying
from brokertrial.suites.workloads.fresh import Fresh
from brokertrial.suites.workloads.reader import Reader, Stream
from brokertrial.suites.workloads.sending import bystanders
from brokertrial.suites.workloads.transactional_session import CALL_S, TransactionalSession, TransactionalSessions
from brokertrial.suites.workloads.workload import Actor

READER = "the copiers"
MOST_BETWEEN_POLLS_MS = 30_000
"""After which a copier that hangs in a call of the library is expelled, and another gets its inputs."""
OffsetsByPartition = dict[PartitionId, list[int]]


@dataclass(frozen=True)
class Copies(Copying):
    """Each input is in the output exactly once, for readers at read_committed.

    A copier aborts each fourth transaction on purpose and asks the group where to go on, so that offsets that came into
    force too early, or that were forgotten, show as copies lost or doubled. Each fourth, and once after the faults at
    the least: of the twenty transactions of a trial under load, a share left to chance was now and then none.
    """

    reader = READER
    copiers: int = 2
    producers: int = 2
    abort_each: int = 4
    rate: float = 120.0
    """Inputs a second of each producer."""

    @property
    def transactional_ids(self) -> tuple[str, ...]:
        return tuple(f"transactional_id{'' if n == 1 else n}" for n in range(1, self.copiers + 1))

    @property
    def apis(self) -> dict[str, int]:
        return {"InitProducerId": 0, "AddOffsetsToTxn": 0, "TxnOffsetCommit": 3, "EndTxn": 0, "JoinGroup": 0}

    def clients(self, context: WorkloadContext, names: dict[str, str]) -> list[Actor]:
        inputs = [place for place in context.places if place[0] == names["topic"]]
        copiers = [
            Actor(f"producer-{n}", context, partial(self._copy, context, n, names, names[word]))
            for n, word in enumerate(self.transactional_ids, 1)
        ]
        return copiers + bystanders(context, self.producers, self.rate, inputs)

    def must_move(self, context: WorkloadContext) -> list[str]:
        return ["copies", "copies taken back"]

    def fresh(self, fresh: Fresh, context: WorkloadContext, names: dict[str, str], lags: list[Lagging]) -> None:
        inputs, outputs = (
            [place for place in context.places if place[0] == names[word]] for word in ("topic", "output")
        )
        fresh.send(inputs)
        for word in self.transactional_ids:
            fresh.transact(names[word], outputs[0], names["group"], inputs)
        fresh.join(names["group"], [names["topic"]], commits=False)
        fresh.read(lags, committed=[READER])

    def _copy(self, context: WorkloadContext, number: int, names: dict[str, str], transactional_id: str) -> None:
        rng = context.random(f"producer-{number}")
        sessions = TransactionalSessions(context, f"producer-{number}", transactional_id)
        turns = itertools.count(number)  # each copier aborts at another turn
        life = 0
        while not context.stopping.is_set():
            session = sessions.current()
            if session is None:
                continue
            life += 1
            member = _Copier(context, f"member-{number}.{life}", session, names)
            try:
                while not context.stopping.is_set() and not session.over:
                    if batch := member.reader.poll():
                        member.copy(batch, rng, next(turns) % self.abort_each == 0)
            finally:
                member.reader.close()
        sessions.close()


class _Copier:
    """One consumer with one transactional producer; both are given up together."""

    def __init__(
        self, context: WorkloadContext, client: str, session: TransactionalSession, names: dict[str, str]
    ) -> None:
        self.context = context
        self.session = session
        self.group = names["group"]
        self.outputs = [place for place in context.places if place[0] == names["output"]]
        self.reader = Reader(
            context, client, group=self.group, mode="subscribe", reset="earliest", isolation="read_committed",
            **{
                "session.timeout.ms": 6_000,
                "heartbeat.interval.ms": 500,
                "max.poll.interval.ms": MOST_BETWEEN_POLLS_MS,
            },
        )  # fmt: skip
        self.reader.consumer.subscribe([names["topic"]], on_assign=self._assigned)

    def _assigned(self, consumer: object, parts: list[TopicPartition]) -> None:
        for part in parts:
            self.reader.streams[part.topic, part.partition] = Stream(self.context.next_stream(), None)

    def copy(self, batch: OffsetsByPartition, rng: Random, abort: bool) -> None:
        """One transaction over all that a poll brought."""
        ends = {place: (self.reader.streams[place].prev or 0) + 1 for place in batch}
        txn = self.session.begin()
        if txn is None:
            return
        for values in batch.values():
            for value in values:
                self.session.writer.send(rng.choice(self.outputs), txn=txn, derived_from=value)
            self.session.writer.poll(0)
        sent = self._send_offsets(txn, ends)
        if self.session.over:
            return
        ended = self.session.end(txn, abort or not sent)
        if ended and sent and not abort:
            for place, end in ends.items():
                self.context.seen(READER, place, end - 1)
            self.context.acknowledged("copies", 0)
        elif not self.session.over:
            self._go_back(list(batch))
            if ended and sent and not self.session.over:
                self.context.acknowledged("copies taken back", 0)

    def _send_offsets(self, txn: int, ends: dict[PartitionId, int]) -> bool:
        parts = [TopicPartition(topic, partition, end) for (topic, partition), end in ends.items()]
        producer, consumer = self.session.writer.producer, self.reader.consumer
        session = self.session
        with self.context.call(
            "commit", session.client, group=self.group, transactional_id=session.transactional_id, txn=txn
        ) as call:
            for part in parts:
                call.on((part.topic, part.partition), committed_offset=part.offset)
            outcome = session.retried(
                "send_offsets",  # may outlast its limit, even forever (librdkafka issue 5456)
                lambda left: producer.send_offsets_to_transaction(parts, consumer.consumer_group_metadata(), left),
            )
            if outcome != "ok":
                call.unknown()
        return outcome == "ok"

    def _go_back(self, places: list[PartitionId]) -> None:
        """To where the group stands now that the transaction is aborted; who cannot learn that begins anew."""
        consumer = self.reader.consumer
        try:
            told = consumer.committed([TopicPartition(*place) for place in places], timeout=CALL_S)
            if any(part.error is not None for part in told):
                raise KafkaException(next(part.error for part in told if part.error is not None))
            for part in told:
                self.reader.rewind((part.topic, part.partition), max(part.offset, 0))
        except KafkaException:
            self.session.over = True

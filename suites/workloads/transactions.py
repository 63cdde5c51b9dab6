"""Transactional producers commit and abort over several partitions, while committed and uncommitted readers look on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.fresh import Fresh
from brokertrial.suites.workloads.reader import Reader
from brokertrial.suites.workloads.sending import bystanders
from brokertrial.suites.workloads.transactional_session import TransactionalSession, TransactionalSessions
from brokertrial.suites.workloads.workload import Actor, TopicPlan, Workload

COMMITTED, UNCOMMITTED = "consumer-committed", "consumer-uncommitted"


@dataclass(frozen=True)
class Transactions(Workload):
    """All of a transaction or nothing of it: for every reader at read_committed, on every partition.

    Plain producers send to the same partitions meanwhile: what they send waits behind open transactions.
    """

    producers: int = 3
    partitions: int = 3
    records: int = 6
    abort_share: float = 0.3
    rate: float = 12.0
    """Transactions a second of each producer."""
    plain: int = 2
    sends: float = 80.0
    """Records a second of each plain producer."""

    @property
    def topics(self) -> tuple[TopicPlan, ...]:
        return (TopicPlan("topic", self.partitions),)

    @property
    def transactional_ids(self) -> tuple[str, ...]:
        return tuple(f"transactional_id{'' if n == 1 else n}" for n in range(1, self.producers + 1))

    @property
    def apis(self) -> dict[str, int]:
        return {"InitProducerId": 0, "AddPartitionsToTxn": 0, "EndTxn": 0}

    def clients(self, context: WorkloadContext, names: dict[str, str]) -> list[Actor]:
        writers = [
            Actor(f"producer-{n}", context, partial(self._write, context, f"producer-{n}", names[word]))
            for n, word in enumerate(self.transactional_ids, 1)
        ]
        readers = [
            Actor(COMMITTED, context, partial(_read, context, COMMITTED, "read_committed")),
            Actor(UNCOMMITTED, context, partial(_read, context, UNCOMMITTED, "read_uncommitted")),
        ]
        return writers + readers + bystanders(context, self.plain, self.sends)

    def must_move(self, context: WorkloadContext) -> list[str]:
        return [f"transactions of producer-{n}" for n in range(1, self.producers + 1)]

    def readers(self, context: WorkloadContext) -> dict[str, dict[PartitionId, int]]:
        return {UNCOMMITTED: context.acked_offsets(), COMMITTED: context.acked_offsets(outside_transactions=True)}

    def fresh(self, fresh: Fresh, context: WorkloadContext, names: dict[str, str], lags: list[Lagging]) -> None:
        fresh.send(context.places)
        for number, word in enumerate(self.transactional_ids):
            fresh.transact(names[word], context.places[number % len(context.places)])
        fresh.read(lags, committed=[COMMITTED])

    def _write(self, context: WorkloadContext, name: str, transactional_id: str) -> None:
        rng = context.random(name)
        sessions = TransactionalSessions(context, name, transactional_id)
        while not context.stopping.wait(rng.expovariate(self.rate)):
            session = sessions.current()
            if session is not None and self._one(session, rng):
                context.acknowledged(f"transactions of {name}", 0)
        sessions.close()

    def _one(self, session: TransactionalSession, rng: Random) -> bool:
        """One transaction; whether it ended as it was meant to."""
        abort = rng.random() < self.abort_share
        txn = session.begin()
        if txn is None:
            return False
        for _ in range(rng.randint(1, self.records)):
            session.writer.send(rng.choice(session.context.places), txn=txn)
            session.writer.poll(0)
        return session.end(txn, abort)


def _read(context: WorkloadContext, name: str, isolation: str) -> None:
    reader = Reader(context, name, isolation=isolation)
    reader.assign(context.places)
    while not context.stopping.is_set():
        reader.poll()
    reader.close()

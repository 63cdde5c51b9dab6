"""Transactional producers commit and abort over several partitions, while committed and uncommitted readers look on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random

from suites.workloads.fresh import Fresh
from suites.workloads.reader import Reader
from suites.workloads.sending import bystanders
from suites.workloads.session import Session, Sessions
from suites.workloads.stage import Lagging, Place, Stage
from suites.workloads.workload import Actor, TopicPlan, Workload

COMMITTED, UNCOMMITTED = "r-committed", "r-uncommitted"


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

    def clients(self, stage: Stage, names: dict[str, str]) -> list[Actor]:
        writers = [
            Actor(f"t{n}", stage, partial(self._write, stage, f"t{n}", names[word]))
            for n, word in enumerate(self.transactional_ids, 1)
        ]
        readers = [
            Actor(COMMITTED, stage, partial(_read, stage, COMMITTED, "read_committed")),
            Actor(UNCOMMITTED, stage, partial(_read, stage, UNCOMMITTED, "read_uncommitted")),
        ]
        return writers + readers + bystanders(stage, self.plain, self.sends)

    def must_move(self, stage: Stage) -> list[str]:
        return [f"transactions of t{n}" for n in range(1, self.producers + 1)]

    def readers(self, stage: Stage) -> dict[str, dict[Place, int]]:
        return {UNCOMMITTED: stage.acked_offsets(), COMMITTED: stage.acked_offsets(outside_transactions=True)}

    def fresh(self, fresh: Fresh, stage: Stage, names: dict[str, str], lags: list[Lagging]) -> None:
        fresh.send(stage.places)
        for number, word in enumerate(self.transactional_ids):
            fresh.transact(names[word], stage.places[number % len(stage.places)])
        fresh.read(lags, committed=[COMMITTED])

    def _write(self, stage: Stage, name: str, transactional_id: str) -> None:
        rng = stage.random(name)
        sessions = Sessions(stage, name, transactional_id)
        while not stage.stopping.wait(rng.expovariate(self.rate)):
            session = sessions.current()
            if session is not None and self._one(session, rng):
                stage.acknowledged(f"transactions of {name}", 0)
        sessions.close()

    def _one(self, session: Session, rng: Random) -> bool:
        """One transaction; whether it ended as it was meant to."""
        abort = rng.random() < self.abort_share
        txn = session.begin()
        if txn is None:
            return False
        for _ in range(rng.randint(1, self.records)):
            session.writer.send(rng.choice(session.stage.places), txn=txn)
            session.writer.poll(0)
        return session.end(txn, abort)


def _read(stage: Stage, name: str, isolation: str) -> None:
    reader = Reader(stage, name, isolation=isolation)
    reader.assign(stage.places)
    while not stage.stopping.is_set():
        reader.poll()
    reader.close()

"""Transactional producers commit and abort over several partitions, while committed and uncommitted readers look on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random

from confluent_kafka import KafkaException

from histories.clock import now_ns
from histories.rows import Operation
from suites.probe.wire import Wire
from suites.workloads.fresh import send_to_all
from suites.workloads.reader import Reader
from suites.workloads.stage import Stage
from suites.workloads.workload import Actor, TopicPlan, Workload
from suites.workloads.writer import Writer

CALL_S = 10.0
RETRIES = 12
FLUSHED_SHARE = 0.8


@dataclass(frozen=True)
class Transactions(Workload):
    """All of a transaction or nothing of it: for every reader at read_committed, on every partition."""

    producers: int = 3
    partitions: int = 3
    records: int = 6
    abort_share: float = 0.3
    rate: float = 12.0
    """Transactions a second of each producer."""

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
            Actor("r-committed", stage, partial(_read, stage, "r-committed", "read_committed")),
            Actor("r-uncommitted", stage, partial(_read, stage, "r-uncommitted", "read_uncommitted")),
        ]
        return writers + readers

    def must_move(self, stage: Stage) -> list[str]:
        return [f"transactions of t{n}" for n in range(1, self.producers + 1)]

    def fresh(self, wire: Wire, stage: Stage, names: dict[str, str]) -> None:
        send_to_all(wire, stage)
        for word in self.transactional_ids:  # takes over each id, which also ends what it left open
            wire.init_producer_id(names[word]).must_succeed()

    def _write(self, stage: Stage, name: str, transactional_id: str) -> None:
        rng = stage.random(name)
        life = 0
        session: _Session | None = None
        while not stage.stopping.wait(rng.expovariate(self.rate)):
            if session is None:
                life += 1
                session = _Session.opened(stage, name if life == 1 else f"{name}.{life}", transactional_id)
                if session is None:
                    continue
            if session.run(rng, self.records, rng.random() < self.abort_share):
                stage.acknowledged(f"transactions of {name}", 0)
            elif session.over:
                session.close()
                session = None
        if session is not None:
            session.close()


class _Session:
    """One producer instance; over when the client library says that it can go on no more."""

    def __init__(self, stage: Stage, client: str, transactional_id: str) -> None:
        self.stage = stage
        self.client = client
        self.transactional_id = transactional_id
        self.over = False
        self.writer = Writer(stage, client, transactional_id=transactional_id)

    @classmethod
    def opened(cls, stage: Stage, client: str, transactional_id: str) -> _Session | None:
        session = cls(stage, client, transactional_id)
        if session._retried("init_transactions", session.writer.producer.init_transactions) == "ok":
            return session
        session.close()
        return None

    def run(self, rng: Random, records: int, abort: bool) -> bool:
        """One transaction; whether it ended as it was meant to."""
        try:
            self.writer.producer.begin_transaction()
        except KafkaException:
            self.over = True
            return False
        txn = self.stage.next_txn()
        self._row("begin", txn, now_ns(), "ok", None)
        for _ in range(rng.randint(1, records)):
            self.writer.send(rng.choice(self.stage.places), txn=txn)
            self.writer.poll(0)
        if abort and rng.random() < FLUSHED_SHARE:  # an abort drops what was not sent yet: most must be in the log
            self.writer.producer.flush(CALL_S)
        if not abort:
            outcome = self._end("commit_txn", txn)
            if outcome == "ok":
                return True
            if self.over:
                return False
        return self._end("abort_txn", txn) == "ok" and abort

    def _end(self, kind: str, txn: int) -> str:
        producer = self.writer.producer
        call_ns = now_ns()
        call = producer.commit_transaction if kind == "commit_txn" else producer.abort_transaction
        outcome = self._retried(kind, call)
        self._row(kind, txn, call_ns, "ok" if outcome == "ok" else "info", None)
        return outcome

    def _retried(self, what: str, call: object) -> str:
        """Calls until it works, the transaction must be aborted, or the producer is finished."""
        for _ in range(RETRIES):
            try:
                call(CALL_S)  # type: ignore[operator]
                return "ok"
            except KafkaException as problem:
                error = problem.args[0]
                if error.fatal():
                    self.over = True
                    self.stage.recorder.event("client-fatal", client=self.client, error=error.str(), call=what)
                    return "fatal"
                if error.txn_requires_abort():
                    return "abort"
                if not error.retriable() or self.stage.stopping.is_set():
                    self.over = True
                    self.stage.recorder.event("client-error", client=self.client, error=error.str(), call=what)
                    return "error"
        self.over = True
        return "error"

    def _row(self, kind: str, txn: int, call_ns: int, outcome: str, error: int | None) -> None:
        if kind == "begin":
            self.stage.clock.tick()
        self.stage.recorder.add(
            Operation(
                op=self.stage.recorder.next_op(),
                client=self.client,
                kind=kind,
                call_ns=call_ns,
                return_ns=now_ns(),
                outcome=outcome,
                error=error,
                transactional_id=self.transactional_id,
                txn=txn,
            )
        )

    def close(self) -> None:
        self.writer.close(5.0)


def _read(stage: Stage, name: str, isolation: str) -> None:
    reader = Reader(stage, name, isolation=isolation)
    reader.assign(stage.places)
    while not stage.stopping.is_set():
        reader.poll()
    reader.close()

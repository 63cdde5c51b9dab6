"""A transactional producer: begins and ends transactions, and is replaced when the client library can go on no more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from confluent_kafka import KafkaException

from brokertrial.suites.workloads.bounded import PATIENCE_S, Hung, bounded
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.operation import RecordedCall
from brokertrial.suites.workloads.writer import RecordProducer

CALL_S = 10.0
FLUSH_S = 2.0
RETRIES = 12
WAIT_S = 0.1


class TransactionalSession:
    """One producer instance. Use from one thread."""

    def __init__(self, context: WorkloadContext, client: str, transactional_id: str) -> None:
        self.context = context
        self.client = client
        self.transactional_id = transactional_id
        self.over = False
        self.hung = False
        """Whether a call of the library did not come back: this producer is not touched any more."""
        self.open = False
        """Whether a transaction may be open, as far as this client knows."""
        self.writer = RecordProducer(context, client, transactional_id=transactional_id)

    def start(self) -> bool:
        """Takes over the transactional id, which ends what another left open."""
        return self.retried("init_transactions", self.writer.producer.init_transactions) == "ok"

    def begin(self) -> int | None:
        """A new transaction and its name; None when this producer is finished."""
        try:
            self.writer.producer.begin_transaction()
        except KafkaException:
            self.over = True
            return None
        txn = self.context.next_txn()
        self.open = True
        with self._call("begin", txn):
            pass
        return txn

    def end(self, txn: int, abort: bool) -> bool:
        """Commits, or aborts when asked to or forced to; whether it ended as it was meant to."""
        if abort:  # the library throws away what it has not sent: let it, so that there is something to hide
            self.writer.flush(FLUSH_S)
        else:
            if self._end("commit_txn", txn) == "ok":
                return True
            if self.over:
                return False
        return self._end("abort_txn", txn) == "ok" and abort

    def _end(self, kind: str, txn: int) -> str:
        producer = self.writer.producer
        with self._call(kind, txn) as call:
            outcome = self.retried(
                kind, producer.commit_transaction if kind == "commit_txn" else producer.abort_transaction
            )
            self.open = outcome != "ok"
            if self.open:
                call.unknown()
        return outcome

    def retried(self, what: str, call: Callable[[float], object]) -> str:
        """Calls until it works ("ok"), the transaction must be aborted ("abort"), or the producer is finished."""
        for _ in range(RETRIES):
            try:
                bounded(lambda: call(CALL_S), CALL_S + PATIENCE_S)
                return "ok"
            except Hung as problem:  # the library is given up, as an application that is watched would be restarted
                self.over = self.hung = True
                self.writer.abandon()
                self.context.hung(f"client {self.client}, {what}: {problem}")
                return "error"
            except KafkaException as problem:
                error = problem.args[0]
                if error.fatal():
                    self.over = True
                    self.context.recorder.event("client-fatal", client=self.client, error=error.str(), call=what)
                    return "fatal"
                if error.txn_requires_abort():
                    return "abort"
                if not error.retriable():
                    self.over = True
                    self.context.recorder.event("client-error", client=self.client, error=error.str(), call=what)
                    return "error"
        self.over = True
        return "error"

    def _call(self, kind: str, txn: int) -> AbstractContextManager[RecordedCall]:
        return self.context.call(kind, self.client, transactional_id=self.transactional_id, txn=txn)

    def close(self) -> None:
        """Ends the producer; an open transaction stays open until another takes over the id, or its time is over."""
        if not self.hung:
            self.writer.close(5.0)


class TransactionalSessions:
    """The producers that hold one transactional id, one after the other."""

    def __init__(self, context: WorkloadContext, client: str, transactional_id: str) -> None:
        self._context = context
        self._client = client
        self._transactional_id = transactional_id
        self._life = 0
        self._left_open = False
        self._session: TransactionalSession | None = None

    def current(self) -> TransactionalSession | None:
        """The producer that works; a new one where the last is over. None when it could not start: ask again."""
        if self._session is not None and self._session.over:
            self._end()
        if self._session is None:
            if self._transactional_id in self._context.taken_over and not self._context.stopping.wait(WAIT_S):
                return None
            self._life += 1
            name = self._client if self._life == 1 else f"{self._client}.{self._life}"
            session = TransactionalSession(self._context, name, self._transactional_id)
            if not session.start():
                session.close()
                return None
            self._left_open = False
            self._session = session
        return self._session

    def close(self) -> None:
        """Ends the last producer, and what it left open: readers would wait for that transaction's timeout."""
        if self._session is not None:
            self._end()
        if self._left_open and self.current() is not None:
            self._end()

    def _end(self) -> None:
        assert self._session is not None, "ended once"
        self._left_open = self._session.open
        self._session.close()
        self._session = None

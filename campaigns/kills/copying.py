"""Copies a topic exactly once while coordinators die: inputs, and a copier whose every step is written down.

The copier is aiokafka: librdkafka 2.16 waits for ever for a group coordinator that has left the metadata in
mid-transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import time
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from brokertrial.histories.payload import read_back, record_for
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client, Operation
from campaigns.kills.support import Trouble, rows_of_send

ID = GROUP = "copy"
SIZE = 64
END_WITHIN_S = 180
_QUIET_ROUNDS = 3
_COPIES_FROM = 1 << 40  # values of copies; those of inputs count from 0


class Copy(threading.Thread):
    """Reads `source`, writes `target` in transactions that carry the input's offsets; anew after any failure."""

    def __init__(self, bootstrap: str, source: str, target: str, recorder: Recorder) -> None:
        super().__init__(name="copy", daemon=True)
        self._servers, self._recorder = bootstrap, recorder
        self._place, self._sink = TopicPartition(source, 0), target
        self._stopping = threading.Event()
        self._values, self._txns, self._positions = itertools.count(_COPIES_FROM), itertools.count(), itertools.count()
        self._began_ns = 0
        self.committed = self.given_up = self.lives = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._run())
        except BaseException as failure:  # noqa: BLE001  told to who waits for commits
            self.failure = failure

    def began_after(self, moment_ns: int) -> bool:
        """Whether a transaction that began after the moment has committed."""
        if self.failure is not None:
            raise self.failure
        return self._began_ns > moment_ns

    def stop(self) -> None:
        """Returns when all inputs are copied; the inputs must have ended."""
        self._stopping.set()
        self.join(END_WITHIN_S)
        if self.failure is not None:
            raise self.failure
        if self.is_alive():
            raise Trouble(f"the copy was not at its end {END_WITHIN_S} s after the last kill")

    async def _run(self) -> None:
        quiet = 0
        while not (self._stopping.is_set() and quiet >= _QUIET_ROUNDS):
            try:
                quiet = await self._life()
            except (KafkaError, TimeoutError):
                self.given_up += 1

    async def _life(self) -> int:
        """One producer and one consumer until something fails or the end; how often there was nothing to do."""
        self.lives += 1
        quick = {"bootstrap_servers": self._servers, "retry_backoff_ms": 30, "request_timeout_ms": 5000}
        consumer = AIOKafkaConsumer(
            group_id=GROUP, isolation_level="read_committed", enable_auto_commit=False, metadata_max_age_ms=1000,
            **quick,
        )  # fmt: skip
        producer = AIOKafkaProducer(
            transactional_id=ID, transaction_timeout_ms=60_000, metadata_max_age_ms=1000, **quick
        )
        self._recorder.add(
            Client(client=self._client, library="aiokafka", acks=-1, idempotence=True, transactional_id=ID, group=GROUP)
        )
        quiet = 0
        try:
            async with asyncio.timeout(60):
                await consumer.start()
                await producer.start()
                consumer.assign([self._place])
                consumer.seek(self._place, await consumer.committed(self._place) or 0)
            while not (self._stopping.is_set() and quiet >= _QUIET_ROUNDS):
                found = await consumer.getmany(self._place, timeout_ms=300, max_records=50)
                messages = found.get(self._place, [])
                quiet = 0 if messages else quiet + 1
                if messages:
                    async with asyncio.timeout(30):
                        await self._transaction(producer, messages)
        finally:
            for client in (producer, consumer):
                with contextlib.suppress(KafkaError, TimeoutError, asyncio.CancelledError):  # `stop` may raise any
                    await asyncio.wait_for(client.stop(), 20)
        return quiet

    @property
    def _client(self) -> str:
        return f"{ID}-{self.lives}"

    async def _transaction(self, producer: AIOKafkaProducer, messages: list[ConsumerRecord]) -> None:
        txn, began_ns = next(self._txns), time.monotonic_ns()
        await producer.begin_transaction()
        try:
            for message in messages:
                await self._send(producer, message, txn)
            place = messages[-1].offset + 1
            await self._step("commit", txn, producer.send_offsets_to_transaction({self._place: place}, GROUP), place)
        except KafkaError:
            await self._step("abort_txn", txn, producer.abort_transaction())
            raise
        await self._step("commit_txn", txn, producer.commit_transaction())
        self.committed += 1
        self._began_ns = began_ns

    async def _send(self, producer: AIOKafkaProducer, message: ConsumerRecord, txn: int) -> None:
        source = read_back(message.key, message.value, message.headers, message.timestamp).value
        value, op, position = next(self._values), self._recorder.next_op(), next(self._positions)
        key, body, headers, timestamp = record_for(value, SIZE)
        call_ns, client = time.monotonic_ns(), self._client
        sent = await producer.send(
            self._sink, body, key=key, partition=0, headers=list(headers), timestamp_ms=timestamp
        )

        def answered(future: asyncio.Future[Any]) -> None:
            failed = future.cancelled() or future.exception() is not None
            rows = rows_of_send(
                client, op, (self._sink, 0), value, position, call_ns, None if failed else future.result().offset,
                txn=txn, derived_from=source, transactional_id=ID,
            )  # fmt: skip
            for row in rows:
                self._recorder.add(row)

        sent.add_done_callback(answered)

    async def _step(self, kind: str, txn: int, step: Any, place: int | None = None) -> None:
        """One call that changes the transaction; whatever it raises, what it did is not known."""
        op, call_ns, outcome = self._recorder.next_op(), time.monotonic_ns(), "info"
        try:
            await step
            outcome = "ok"
        finally:
            where: dict[str, Any] = {}
            if place is not None:
                where = {"topic": self._place.topic, "partition": 0, "committed_offset": place, "group": GROUP}
            self._recorder.add(
                Operation(
                    op=op, client=self._client, kind=kind, call_ns=call_ns, return_ns=time.monotonic_ns(),
                    outcome=outcome, transactional_id=ID, txn=txn, **where,
                )
            )  # fmt: skip

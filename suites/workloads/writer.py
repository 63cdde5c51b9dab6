"""A producer of unique values over librdkafka. Every record is one operation; its answer, or its absence, is a row."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from brokertrial.histories.clock import now_ns
from brokertrial.histories.payload import record_for
from brokertrial.histories.rows import Client, Operation, PartitionId, Record
from brokertrial.suites.workloads.context import WorkloadContext

IN_FLIGHT = 400
FLUSH_S = 60.0
FLUSH_STEP_S = 1.0
TRANSACTION_MS = 30_000


class PendingRecord:
    """A record under way."""

    __slots__ = ("call_ns", "derived_from", "key", "op", "place", "position", "timestamp", "txn", "value")

    def __init__(
        self,
        op: int,
        place: PartitionId,
        value: int,
        key: int | None,
        timestamp: int,
        position: int,
        call_ns: int,
        txn: int | None,
        derived_from: int | None,
    ) -> None:
        self.op, self.place, self.value, self.key, self.timestamp = op, place, value, key, timestamp
        self.position, self.call_ns, self.txn, self.derived_from = position, call_ns, txn, derived_from


class ReportedOffsets:
    """Which offsets of the library are the broker's word.

    A batch that is answered without an offset (-1, as with DUPLICATE_SEQUENCE_NUMBER) is reported by librdkafka as
    -1, 0, 1 ...: it counts on from there. None of these was told by the broker.
    """

    def __init__(self) -> None:
        self._counted_on: dict[PartitionId, int] = {}

    def offset(self, place: PartitionId, reported: int | None) -> int | None:
        """The offset that was told for the next record of a partition; None where there was none."""
        if reported is None or reported < 0:
            self._counted_on[place] = -1
            return None
        if self._counted_on.get(place) == reported - 1:
            self._counted_on[place] = reported
            return None
        self._counted_on.pop(place, None)
        return reported


class RecordProducer:
    """Sends and records. Use from one thread; callbacks come while it polls."""

    def __init__(
        self,
        context: WorkloadContext,
        client: str,
        *,
        idempotent: bool = True,
        acks: int = -1,
        retries: int | None = None,
        transactional_id: str | None = None,
        size: int = 64,
        compression: str = "none",
        in_flight: int | None = None,
    ) -> None:
        self.context = context
        self.client = client
        self.size = size
        self.fatal: str | None = None
        self.unsure = 0
        """Records that were not acknowledged, whatever became of them."""
        self._idempotent = idempotent or transactional_id is not None
        self._transactional_id = transactional_id
        self._values = context.value_range()
        self._positions: dict[PartitionId, itertools.count[int]] = {}
        self._under_way: dict[int, PendingRecord] = {}
        self._told = ReportedOffsets()
        more: dict[str, Any] = {"acks": acks, "compression.type": compression}
        if self._idempotent:
            more["enable.idempotence"] = True
        if retries is not None:
            more["retries"] = retries
        if in_flight is not None:
            more["max.in.flight.requests.per.connection"] = in_flight
        if transactional_id is not None:
            more |= {"transactional.id": transactional_id, "transaction.timeout.ms": TRANSACTION_MS}
            more["message.timeout.ms"] = TRANSACTION_MS - 5_000
        context.writers.append(self)
        self.producer = Producer(context.producer_settings(client, **more))
        context.recorder.add(
            Client(
                client=client,
                library="librdkafka",
                version=confluent_kafka.libversion()[0],
                acks=acks,
                idempotence=self._idempotent,
                transactional_id=transactional_id,
                retries=retries,
            )
        )

    @property
    def waiting(self) -> int:
        """Records without an answer."""
        return len(self._under_way)

    def send(self, place: PartitionId, *, txn: int | None = None, derived_from: int | None = None) -> int | None:
        """Sends the next value; None when the client's queue is full and nothing was sent."""
        value = next(self._values)
        key, body, headers, timestamp = record_for(value, self.size)
        op = self.context.recorder.next_op()
        self.context.clock.tick()
        position = next(self._positions.setdefault(place, itertools.count()))
        number = int.from_bytes(key, "big", signed=True) if key is not None else None
        sent = PendingRecord(op, place, value, number, timestamp, position, now_ns(), txn, derived_from)
        self._under_way[op] = sent
        try:
            self.producer.produce(
                place[0],
                value=body,
                key=key,
                partition=place[1],
                timestamp=timestamp,
                headers=list(headers),
                on_delivery=lambda error, message: self._answered(sent, error, message),
            )
        except BufferError:
            del self._under_way[op]
            self._record(sent, "fail", None, None, None)
            self.poll(0.05)
            return None
        except KafkaException as error:  # before anything was queued: certainly no effect
            del self._under_way[op]
            self._record(sent, "fail", error.args[0].code(), None, now_ns())
            self._look_at(error.args[0])
            return None
        return value

    def poll(self, seconds: float) -> None:
        """Serves callbacks; waits up to so long for one. A fatal error of the library, which it raises, is noted."""
        try:
            self.producer.poll(seconds)
        except KafkaException as error:
            self._look_at(error.args[0])

    def flush(self, within_s: float) -> None:
        """Waits for the answers still due; no longer than that, and not when the library or the trial has given up."""
        deadline_ns = now_ns() + int(within_s * 1e9)
        while self._under_way and self.fatal is None and not (self.context.problems or self.context.hurried.is_set()):
            if (left_s := (deadline_ns - now_ns()) / 1e9) <= 0:
                return
            try:
                self.producer.flush(min(left_s, FLUSH_STEP_S))
            except KafkaException as error:
                self._look_at(error.args[0])

    def close(self, within_s: float = FLUSH_S) -> None:
        """Waits for the answers still due; what never gets one is recorded as unknown."""
        self.flush(within_s)
        if self.fatal is not None:
            self._drain()
        for sent in list(self._under_way.values()):
            self._record(sent, "info", None, None, None)
        self._under_way.clear()
        self._drain()

    def abandon(self) -> None:
        """Records all that is under way as unknown; its answers, should they come yet, count no more."""
        while self._under_way:
            with contextlib.suppress(KeyError):  # an answer came just now
                self._record(self._under_way.popitem()[1], "info", None, None, None)

    def _drain(self) -> None:
        """Gives up what is queued and in flight, and takes the callbacks that say so."""
        self.producer.purge(in_queue=True, in_flight=True)
        self.poll(0)

    def _answered(self, sent: PendingRecord, error: KafkaError | None, message: Message) -> None:
        if self._under_way.pop(sent.op, None) is None:
            return
        if error is not None:
            self._record(sent, "info", error.code(), None, now_ns())
            self._look_at(error)
            return
        offset = self._told.offset(sent.place, message.offset())
        self._record(sent, "ok", None, offset, now_ns(), message.leader_epoch())
        self.context.sent(sent.place, offset or 0, sent.txn)

    def _look_at(self, error: KafkaError) -> None:
        if error.fatal() and self.fatal is None:
            self.fatal = error.str()
            self.context.recorder.event("client-fatal", client=self.client, error=error.str())

    def _record(
        self,
        sent: PendingRecord,
        outcome: str,
        error: int | None,
        offset: int | None,
        return_ns: int | None,
        epoch: int | None = None,
    ) -> None:
        self.unsure += outcome != "ok"
        topic, partition = sent.place
        kafka_error = error if error is not None and error > 0 else None
        self.context.recorder.add(
            Operation(
                op=sent.op,
                client=self.client,
                kind="send",
                topic=topic,
                partition=partition,
                call_ns=sent.call_ns,
                return_ns=return_ns,
                outcome=outcome,
                error=kafka_error,
                base_offset=offset,
                count=1,
                txn=sent.txn,
                transactional_id=self._transactional_id,
                leader_epoch=epoch,
            )
        )
        self.context.recorder.add(
            Record(
                op=sent.op,
                client=self.client,
                topic=topic,
                partition=partition,
                offset=offset,
                value=sent.value,
                key=sent.key,
                side="sent",
                position=sent.position,
                timestamp=sent.timestamp,
                outcome=outcome,
                txn=sent.txn,
                derived_from=sent.derived_from,
                leader_epoch=epoch,
            )
        )

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
from brokertrial.suites.workloads.operation import kafka_code

IN_FLIGHT = 400
FLUSH_S = 60.0
FLUSH_STEP_S = 1.0
TRANSACTION_MS = 30_000


PendingRecord = tuple[Operation, Record]
"""A record under way: its rows, as far as they are known."""


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
        answer_within_ms: int | None = None,
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
        if answer_within_ms is not None:
            more["socket.timeout.ms"] = answer_within_ms
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
        call = self.context.invoked("send", self.client, place)
        call.count, call.txn, call.transactional_id = 1, txn, self._transactional_id
        record = Record(
            op=call.op,
            client=self.client,
            topic=place[0],
            partition=place[1],
            value=value,
            key=int.from_bytes(key, "big", signed=True) if key is not None else None,
            side="sent",
            position=next(self._positions.setdefault(place, itertools.count())),
            timestamp=timestamp,
            outcome="info",
            txn=txn,
            derived_from=derived_from,
        )
        sent = self._under_way[call.op] = call, record
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
            del self._under_way[call.op]
            self._record(sent, "fail")
            self.poll(0.05)
            return None
        except KafkaException as error:  # before anything was queued: certainly no effect
            del self._under_way[call.op]
            self._record(sent, "fail", now_ns(), error.args[0].code())
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
            self._record(sent, "info")
        self._under_way.clear()
        self._drain()

    def abandon(self) -> None:
        """Records all that is under way as unknown; its answers, should they come yet, count no more."""
        while self._under_way:
            with contextlib.suppress(KeyError):  # an answer came just now
                self._record(self._under_way.popitem()[1], "info")

    def _drain(self) -> None:
        """Gives up what is queued and in flight, and takes the callbacks that say so."""
        self.producer.purge(in_queue=True, in_flight=True)
        self.poll(0)

    def _answered(self, sent: PendingRecord, error: KafkaError | None, message: Message) -> None:
        at_ns = now_ns()  # first: after a fatal error the library calls with an exception pending, which ends any call
        if self._under_way.pop(sent[0].op, None) is None:
            return
        if error is not None:
            self._record(sent, "info", at_ns, error.code())
            self._look_at(error)
            return
        call, record = sent
        place = record.topic, record.partition
        call.base_offset = record.offset = offset = self._told.offset(place, message.offset())
        call.leader_epoch = record.leader_epoch = message.leader_epoch()
        self._record(sent, "ok", at_ns)
        self.context.sent(place, offset or 0, record.txn)

    def _look_at(self, error: KafkaError) -> None:
        if error.fatal() and self.fatal is None:
            self.fatal = error.str()
            self.context.recorder.event("client-fatal", client=self.client, error=error.str())

    def _record(
        self, sent: PendingRecord, outcome: str, return_ns: int | None = None, error: int | None = None
    ) -> None:
        self.unsure += outcome != "ok"
        call, record = sent
        call.outcome = record.outcome = outcome
        call.return_ns = return_ns
        if error is not None:
            call.error = kafka_code(error)
        self.context.recorder.add(call)
        self.context.recorder.add(record)

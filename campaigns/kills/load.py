"""The load while leaders die: idempotent sends to every partition in turn, each answer written down."""

from __future__ import annotations

import itertools
import threading
import time

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from brokertrial.histories.payload import record_for
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import Client
from campaigns.kills.support import QUICK, Trouble, rows_of_send

GIVE_UP_S = 120
SIZE = 64


class Load(threading.Thread):
    """One producer at a time; librdkafka gives one up for good when its broker forgot what it had acknowledged."""

    def __init__(
        self, bootstrap: str, topic: str, partitions: int, recorder: Recorder, *, gap_s: float = 0.002
    ) -> None:
        super().__init__(name="load", daemon=True)
        self._servers, self._topic, self._recorder = bootstrap, topic, recorder
        self._partitions, self._gap_s = partitions, gap_s
        self._stopping = threading.Event()
        self._newest_ns = dict.fromkeys(range(partitions), (0, 0))  # (sent, acknowledged) of the newest acknowledged
        self._values = itertools.count()
        self._fatal = False
        self.acked = self.failed = self.producers = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._one_producer()
        except BaseException as failure:  # noqa: BLE001  told to who waits for acknowledgements
            self.failure = failure

    def _one_producer(self) -> None:
        self.producers += 1
        client, self._fatal = f"producer-{self.producers}", False
        producer = Producer(
            {"bootstrap.servers": self._servers, "client.id": client, "enable.idempotence": True, "linger.ms": 1,
             "delivery.timeout.ms": GIVE_UP_S * 1000, "request.timeout.ms": 5000, **QUICK}
        )  # fmt: skip
        self._recorder.add(Client(client=client, library="librdkafka", acks=-1, idempotence=True))
        positions = [itertools.count() for _ in range(self._partitions)]
        for number in itertools.cycle(range(self._partitions)):
            if self._stopping.is_set() or self._fatal:
                break
            self._send(producer, client, number, next(positions[number]))
            self._poll(producer, self._gap_s)
        if self._fatal:
            producer.purge(in_queue=True, in_flight=True)
        producer.flush(GIVE_UP_S)

    def _poll(self, producer: Producer, seconds: float) -> None:
        try:
            producer.poll(seconds)
        except KafkaException as problem:
            self._fatal = self._fatal or problem.args[0].fatal()

    def _send(self, producer: Producer, client: str, partition: int, position: int) -> None:
        value = next(self._values)
        key, body, headers, timestamp = record_for(value, SIZE)
        op, call_ns = self._recorder.next_op(), time.monotonic_ns()

        def delivered(error: KafkaError | None, message: Message) -> None:
            offset = None if error else message.offset()
            self._tell(client, op, partition, value, position, call_ns, offset)
            self._fatal = self._fatal or (error is not None and error.fatal())

        while not self._fatal:
            try:
                producer.produce(
                    self._topic, value=body, key=key, headers=list(headers), timestamp=timestamp, partition=partition,
                    on_delivery=delivered,
                )  # fmt: skip
                return
            except BufferError:  # nobody answers: not one more until somebody does
                self._poll(producer, 0.05)
            except KafkaException as problem:
                self._fatal = self._fatal or problem.args[0].fatal()

    def _tell(
        self, client: str, op: int, partition: int, value: int, position: int, call_ns: int, offset: int | None
    ) -> None:
        for row in rows_of_send(client, op, (self._topic, partition), value, position, call_ns, offset):
            self._recorder.add(row)
        if offset is None:
            self.failed += 1
            return
        self.acked += 1
        if call_ns > self._newest_ns[partition][0]:
            self._newest_ns[partition] = (call_ns, time.monotonic_ns())

    def acked_after(self, partition: int, moment_ns: int) -> int | None:
        """When something was acknowledged that was sent to the partition after the moment; None if nothing was."""
        if self.failure is not None:
            raise self.failure
        sent_ns, acked_ns = self._newest_ns[partition]
        return acked_ns if sent_ns > moment_ns else None

    def stop(self) -> None:
        """Waits until everything sent is acknowledged or given up."""
        self._stopping.set()
        self.join(GIVE_UP_S + 30)
        if self.failure is not None:
            raise self.failure
        if self.is_alive():
            raise Trouble(f"the producer was not at its end {GIVE_UP_S + 30} s after it was told to stop")

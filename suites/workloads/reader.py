"""A consumer over librdkafka that records what it is delivered: streams by assignment, never ends or watermarks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from brokertrial.histories.clock import now_ns
from brokertrial.histories.payload import read_back
from brokertrial.histories.rows import Client, PartitionId, Record
from brokertrial.suites.workloads.bounded import PATIENCE_S, Hung, bounded
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.operation import RecordedCall

POLL_RECORDS = 500
CLOSE_S = 10.0
FINE = {KafkaError._PARTITION_EOF, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT}


class Stream:
    """What one assignment of one partition has delivered."""

    __slots__ = ("number", "position", "prev")

    def __init__(self, number: int, prev: int | None) -> None:
        self.number, self.position, self.prev = number, 0, prev


class Reader:
    """Reads assigned partitions from their beginning. Use from one thread."""

    def __init__(
        self,
        context: WorkloadContext,
        client: str,
        *,
        isolation: str = "read_uncommitted",
        group: str | None = None,
        mode: str = "assign",
        reset: str = "error",
        **more: Any,
    ) -> None:
        self.context = context
        self.client = client
        self.streams: dict[PartitionId, Stream] = {}
        self._denied: dict[PartitionId, int] = {}
        self.consumer = Consumer(
            context.consumer_settings(
                client,
                **{
                    "group.id": group or context.new_name("reader"),
                    "isolation.level": isolation,
                    "auto.offset.reset": reset,
                    **more,
                },
            )
        )
        context.recorder.add(
            Client(
                client=client,
                library="librdkafka",
                version=confluent_kafka.libversion()[0],
                isolation=isolation,
                mode=mode,
                group=group,
                protocol=more.get("group.protocol", "classic") if mode == "subscribe" else None,
                auto_commit=bool(more.get("enable.auto.commit", False)),
            )
        )

    def assign(self, places: Iterable[PartitionId], offset: int = 0) -> None:
        """A new stream on each partition, from an offset."""
        listed = list(places)
        self._denied.clear()
        self.consumer.assign([TopicPartition(topic, partition, offset) for topic, partition in listed])
        self.streams = {place: Stream(self.context.next_stream(), offset - 1) for place in listed}

    def poll(self, seconds: float = 0.1) -> dict[PartitionId, list[int]]:
        """One poll; the values by partition. Records and one operation a partition go to the history."""
        self._ask_again()
        call_ns = now_ns()
        messages = self.consumer.consume(POLL_RECORDS, seconds)
        return_ns = now_ns()
        by_place: dict[PartitionId, list[Message]] = {}
        for message in messages:
            if (error := message.error()) is None:
                by_place.setdefault(_place(message), []).append(message)
            elif error.code() not in FINE:
                self.context.recorder.event("client-error", client=self.client, error=error.str(), code=error.code())
                if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                    self._told_out_of_range(message, call_ns, return_ns)
        if not by_place:
            return {}
        with self.context.call("poll", self.client, call_ns=call_ns, return_ns=return_ns) as call:
            return {place: self._take(call, place, found) for place, found in by_place.items()}

    def _take(self, call: RecordedCall, place: PartitionId, messages: list[Message]) -> list[int]:
        topic, partition = place
        self._denied.pop(place, None)
        add = self.context.recorder.add
        op = call.on(place, base_offset=messages[0].offset(), count=len(messages)).op
        stream = self.streams.setdefault(place, Stream(self.context.next_stream(), None))
        values: list[int] = []
        for message in messages:
            kind, timestamp = message.timestamp()
            headers: Any = message.headers()
            seen = read_back(message.key(), message.value(), headers, timestamp, append_time=kind == 2)
            offset = message.offset()
            add(
                Record(
                    op=op,
                    client=self.client,
                    topic=topic,
                    partition=partition,
                    offset=offset,
                    value=seen.value,
                    key=seen.key,
                    tombstone=seen.tombstone,
                    intact=seen.intact,
                    digest=seen.digest,
                    side="seen",
                    stream=stream.number,
                    position=stream.position,
                    prev_offset=stream.prev,
                    leader_epoch=message.leader_epoch(),
                    timestamp=timestamp,
                    outcome="ok",
                )
            )
            stream.position += 1
            stream.prev = offset
            if seen.value is not None:
                values.append(seen.value)
        self.context.seen(self.client, place, messages[-1].offset() or 0)
        return values

    def _told_out_of_range(self, message: Message, call_ns: int, return_ns: int) -> None:
        """Nothing is trimmed in a trial: the broker denies a position that it gave out. Recorded, then asked again."""
        place = _place(message)
        if place in self.streams:
            last = self.streams[place].prev
            offset = 0 if last is None else last + 1  # offset 0 may be the last one: it is false too
            self.context.recorder.event(
                "out-of-range", client=self.client, topic=place[0], partition=place[1], offset=offset
            )
            self._denied[place] = offset
            self._ask_again()

    def _ask_again(self) -> None:
        """Back to each position that was denied, once the library is ready to go there."""
        for place, offset in list(self._denied.items()):
            try:
                self.consumer.seek(TopicPartition(place[0], place[1], offset))
            except KafkaException as error:
                if error.args[0].code() != KafkaError._STATE:
                    raise
            else:
                del self._denied[place]

    def rewind(self, place: PartitionId, offset: int = 0) -> None:
        """Reads a partition again from an offset, as a new stream."""
        self.consumer.seek(TopicPartition(place[0], place[1], offset))
        self.streams[place] = Stream(self.context.next_stream(), offset - 1)

    def close(self) -> None:
        """Leaves."""
        try:
            bounded(self.consumer.close, CLOSE_S + PATIENCE_S)
        except Hung as problem:
            self.context.hung(f"client {self.client}, close: {problem}")


def _place(message: Message) -> PartitionId:
    """The partition of a message that the library delivered."""
    return str(message.topic()), int(message.partition() or 0)

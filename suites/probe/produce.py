"""Produce: batches to one partition or to many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Self, TypeVar

from brokertrial.suites.probe.answer import PendingExchange, Response
from brokertrial.suites.probe.core import COORDINATOR_BUSY, LEADER_UNSETTLED, Core
from brokertrial.wire import errors
from brokertrial.wire.messages import request
from brokertrial.wire.records import NO_TIMESTAMP, BatchHeader, Record, RecordsMalformed, build_batch
from brokertrial.wire.records import batches as read_batches

P = TypeVar("P", bound=Response)
#: What a leader answers that could not yet have a batch verified by the transaction coordinator (KIP-890); nothing is
#: written then.
UNVERIFIED = (*COORDINATOR_BUSY, errors.NOT_ENOUGH_REPLICAS)
Batchlike = bytes | Record | Sequence[Record] | Sequence[bytes | str]


_case_time: ContextVar[int] = ContextVar("case_time", default=NO_TIMESTAMP)


@contextmanager
def case_time(ms: int) -> Iterator[None]:
    """The time of records that are given none while a case runs; kept with its scene, so that `check` sends it too."""
    token = _case_time.set(ms)
    try:
        yield
    finally:
        _case_time.reset(token)


def batch(
    *values: bytes | str,
    at: Iterable[int] = (),
    records: Sequence[Record] = (),
    key: bytes | None = None,
    timestamp: int | None = None,
    **settings: Any,
) -> bytes:
    """One record batch.

    `batch("a", "b")` holds two values; `batch(at=[t, t + 1000])` a record at each of these times; `records=[...]` what
    you like. Records that are given no time have that of the case, as those of an ordinary client have one;
    `timestamp=NO_TIMESTAMP` is none. Settings go to wire.records.build_batch: producer_id, producer_epoch,
    base_sequence, transactional, compression ...
    """
    moment = _case_time.get() if timestamp is None else timestamp
    made = (
        _dated(records, moment)
        or [Record(key=key, value=f"at {when}".encode(), timestamp=when) for when in at]
        or [
            Record(key=key, value=value.encode() if isinstance(value, str) else value, timestamp=moment)
            for value in values
        ]
    )
    return bytes(build_batch(made, **settings))


def _dated(records: Sequence[Record], moment: int) -> list[Record]:
    """Records of which some have a time are left as they are."""
    if any(record.timestamp != NO_TIMESTAMP for record in records):
        return list(records)
    return [replace(record, timestamp=moment) for record in records]


class Produced(Response):
    """The answer for one partition."""

    def __init__(self, asked: PendingExchange, row: str = "responses[0].partition_responses[0]") -> None:
        super().__init__(asked)
        self.row = row
        self.places = (f"{row}.error_code",)

    @property
    def offset(self) -> int:
        """The offset of the batch's first record; the batch must have been taken."""
        return int(self.must_succeed().at(f"{self.row}.base_offset"))

    @property
    def log_append_time(self) -> int:
        """The broker's time for the batch, -1 where the client's counts."""
        return int(self.must_succeed().at(f"{self.row}.log_append_time_ms"))

    @property
    def log_start_offset(self) -> int:
        return int(self.must_succeed().at(f"{self.row}.log_start_offset"))

    def must_be_at(self, offset: int) -> Self:
        """The batch must have been taken, and its first record must have this offset."""
        return self.must_succeed().must_have(f"{self.row}.base_offset", offset)


class ProducedToMany(Response):
    """The answer for several partitions."""

    def __init__(self, asked: PendingExchange) -> None:
        super().__init__(asked)
        self.topic_ids: dict[str, Any] = {}

    def of(self, topic: str, partition: int = 0) -> Produced:
        """The part of one partition, which must be there exactly once."""
        rows = [
            f"responses[{t}].partition_responses[{p}]"
            for t, named in enumerate(self.struct.responses)
            if self._is(named, topic)
            for p, row in enumerate(named.partition_responses)
            if row.index == partition
        ]
        if len(rows) != 1:
            self.is_false(f"{topic}-{partition} is answered {len(rows)} times; it must be answered once", "responses")
        self.asked.wait()
        return Produced(self.asked, rows[0])

    def _is(self, named: Any, topic: str) -> bool:
        if self.version < 13:
            return bool(named.name == topic)
        return bool(named.topic_id == self.topic_ids.get(topic))


class ProduceFamily(Core):
    """`wire.produce(topic, batch("a"))`"""

    _numbered: frozenset[tuple[str, int, bytes]] = frozenset()
    """The batches of idempotent producers that were sent."""

    def _step_of(self, batches: Mapping[tuple[str, int], Batchlike], transactional_id: str | None) -> str:
        """An ordinary batch is one step; a batch of an idempotent producer that is sent again is another."""
        (place, content), *others = batches.items()
        header = None if others or transactional_id is not None else _ordinary(content)
        if header is None or header.is_transactional:
            return ""
        if header.producer_id < 0:
            return "write"
        sent = (*place, as_batch(content))
        again, self._numbered = sent in self._numbered, self._numbered | {sent}
        return "retry" if again else ""

    def produce(
        self,
        topic: str,
        batches: Batchlike,
        partition: int = 0,
        *,
        acks: int = -1,
        timeout_ms: int = 10_000,
        transactional_id: str | None = None,
        version: int | None = None,
        to: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
        step: str = "",
    ) -> Produced:
        """Sends a batch (or several, one after the other in one field) to the leader, or to the node named.

        Values or records instead of bytes become one batch. With acks=0 there is no answer: do not look at it.
        `step` is for `Producer`: which step the next batch of a producer is.
        """
        return self._produce(
            {(topic, partition): batches},
            Produced,
            acks,
            timeout_ms,
            transactional_id,
            version,
            to,
            via,
            wait,
            retry and to is None,
            step,
        )

    def produce_all(
        self,
        batches: Mapping[tuple[str, int], Batchlike],
        *,
        acks: int = -1,
        timeout_ms: int = 10_000,
        transactional_id: str | None = None,
        version: int | None = None,
        to: int | None = None,
        via: str = "main",
        wait: bool = True,
    ) -> ProducedToMany:
        """Several partitions in one request, to the leader of the first; `.of(topic, partition)` is the part of one."""
        answer = self._produce(
            batches, ProducedToMany, acks, timeout_ms, transactional_id, version, to, via, wait, False
        )
        answer.topic_ids = {topic: self.topic_id(topic) for topic, _ in batches}
        return answer

    def _produce(
        self,
        batches: Mapping[tuple[str, int], Batchlike],
        kind: type[P],
        acks: int,
        timeout_ms: int,
        transactional_id: str | None,
        version: int | None,
        to: int | None,
        via: str,
        wait: bool,
        retry: bool,
        step: str = "",
    ) -> P:
        topic, partition = next(iter(batches))
        step = step or self._step_of(batches, transactional_id)
        rows: dict[str, list[dict[str, Any]]] = {}
        for (name, index), content in batches.items():
            rows.setdefault(name, []).append({"index": index, "records": as_batch(content)})
        asked = request(
            "Produce",
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=timeout_ms,
            topic_data=[
                {"name": name, "topic_id": self.topic_id(name), "partition_data": parts} for name, parts in rows.items()
            ],
        )
        plain = acks == -1 and version is None
        unsettled: tuple[int, ...] = LEADER_UNSETTLED if partition in self.known_partitions(topic) else ()
        if transactional_id is not None:
            unsettled += UNVERIFIED
        return self.ask_as(
            kind,
            asked,
            version=self.by_name("Produce", rows, 12) if version is None else version,
            to=(lambda: self.leader(topic, partition)) if to is None else to,
            via=via,
            wait=wait,
            answered=acks != 0,
            may_take_s=timeout_ms / 1000,
            retry_on=unsettled if retry else (),
            refresh=lambda: self.refresh_metadata(topic),
            step=step if plain and self._is_led_by(to, topic, partition) else "",
        )


def _ordinary(content: Batchlike) -> BatchHeader | None:
    """The header of one whole batch that is not compressed and ends no transaction; None where it is something odd."""
    try:
        made = [part.header for part in read_batches(as_batch(content), cut_allowed=False)]
    except RecordsMalformed:
        return None
    return None if len(made) != 1 or made[0].codec or made[0].is_control else made[0]


def as_batch(content: Batchlike) -> bytes:
    """Bytes as they are; anything else as one batch."""
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    if isinstance(content, Record):
        return batch(records=[content])
    if content and isinstance(content[0], Record):
        return batch(records=[item for item in content if isinstance(item, Record)])
    return batch(*(item for item in content if isinstance(item, (bytes, str))))

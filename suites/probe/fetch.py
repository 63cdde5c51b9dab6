"""Fetch: one answer of the broker, or everything from a position to the end by following positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Self

from brokertrial.suites.probe.answer import PendingExchange, Response
from brokertrial.suites.probe.core import END_UNSETTLED, LEADER_UNSETTLED, Core
from brokertrial.suites.probe.failures import ProtocolBroken, StatementFalse
from brokertrial.suites.probe.rendering import at_path
from brokertrial.wire.messages import request
from brokertrial.wire.records import Batch, Marker, Record, RecordsMalformed, batches

MAX_RECORD_BYTES = 128 * 1024 * 1024
COMMITTED, UNCOMMITTED = "committed", "uncommitted"
MAX_WAIT_MS = 500


class Fetched(Response):
    """The answer for one partition."""

    def __init__(self, asked: PendingExchange, row: str = "responses[0].partitions[0]") -> None:
        super().__init__(asked)
        self.row = row

    def _errors(self) -> list[tuple[str, int]]:
        struct = self.asked.wait()
        found = [("error_code", struct.error_code)] if struct.error_code else []
        if struct.responses:
            code = self._row().error_code
            found += [(f"{self.row}.error_code", code)] if code else []
        return found

    def _row(self) -> Any:
        struct = self.asked.wait()
        if not struct.responses or not struct.responses[0].partitions:
            self.is_false("the answer names no partition; it must name the one that was asked for", "responses")
        return at_path(struct, self.row)

    @property
    def high_watermark(self) -> int:
        self.must_succeed()
        return int(self._row().high_watermark)

    @property
    def last_stable_offset(self) -> int:
        self.must_succeed()
        return int(self._row().last_stable_offset)

    @property
    def log_start_offset(self) -> int:
        self.must_succeed()
        return int(self._row().log_start_offset)

    @property
    def aborted(self) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions that the broker names."""
        self.must_succeed()
        return [(row.producer_id, row.first_offset) for row in self._row().aborted_transactions or []]

    @property
    def raw(self) -> bytes:
        """The record bytes as they came."""
        self.must_succeed()
        return bytes(self._row().records or b"")

    @property
    def batches(self) -> list[Batch]:
        """The whole batches of the answer; a cut one at the end is left out."""
        try:
            return list(batches(self.raw))
        except RecordsMalformed as error:
            self._unreadable(error)

    @property
    def records(self) -> list[Record]:
        """All records of the data batches, also those below the offset asked for, aborted ones too."""
        return [record for part in self.batches if not part.header.is_control for record in self.records_of(part)]

    def records_of(self, part: Batch) -> list[Record]:
        """The records of one batch of the answer."""
        try:
            return list(part.records(MAX_RECORD_BYTES))
        except RecordsMalformed as error:
            self._unreadable(error)

    def marker_of(self, part: Batch) -> Marker:
        """What a control batch of the answer says; one that holds no control record fails the case."""
        try:
            return part.marker()
        except RecordsMalformed as error:
            self._unreadable(error)

    def _unreadable(self, error: RecordsMalformed) -> NoReturn:
        sentence = f"Fetch v{self.version}: the records cannot be read: {error}"
        raise ProtocolBroken(sentence, self.asked.evidence((f"{self.row}.records",), sentence), (self.asked.number,))

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]

    @property
    def offsets(self) -> list[int]:
        return [record.offset for record in self.records]

    def must_hold(self, *values: bytes | str) -> Self:
        """The records' values must be exactly these, in this order."""
        wanted = [value.encode() if isinstance(value, str) else value for value in values]
        return self.must(
            self.values == wanted, f"the records are {self.values}; they must be {wanted}", f"{self.row}.records"
        )

    def must_be_empty(self) -> Self:
        """No records, and no error."""
        return self.must(
            not self.raw, f"it holds {len(self.raw)} bytes of records; it must hold none", f"{self.row}.records"
        )

    def must_reach(self, offset: int) -> Self:
        """A batch with this offset must be in the answer."""
        held = any(part.header.base_offset <= offset <= part.header.last_offset for part in self.batches)
        if not held:
            step = "position" if self.asked.step == "read" else ""
            self._is_false(f"no batch of the answer holds offset {offset}", f"{self.row}.records", step=step)
        return self


class ReadLog:
    """What reading a partition to its end gave: the records in order, and the answers that they came in."""

    def __init__(
        self, records: Sequence[Record], parts: Sequence[Batch], answers: Sequence[Fetched], what: str
    ) -> None:
        self.records = list(records)
        self.batches = list(parts)
        self.answers = list(answers)
        self._what = what

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]

    @property
    def offsets(self) -> list[int]:
        return [record.offset for record in self.records]

    def must_hold(self, *values: bytes | str | None) -> Self:
        """The values must be exactly these, in this order."""
        wanted = [value.encode() if isinstance(value, str) else value for value in values]
        return self.must(self.values == wanted, f"the records are {self.values}; they must be {wanted}")

    def must_have_offsets(self, offsets: Iterable[int]) -> Self:
        """The records' offsets must be exactly these."""
        wanted = list(offsets)
        return self.must(self.offsets == wanted, f"the offsets are {self.offsets}; they must be {wanted}")

    def must(self, holds: bool, statement: str) -> Self:
        """A statement of the case about what was read; the last answers are the proof."""
        if not holds:
            proof = tuple(
                line
                for answer in self.answers[-3:]
                for line in answer.asked.evidence((f"{answer.row}.records",), statement)
            )
            raise StatementFalse(
                f"{self._what}: {statement}", proof, tuple(answer.asked.number for answer in self.answers)
            )
        return self


class FetchFamily(Core):
    """`wire.fetch(topic, offset=3)`, `wire.read_all(topic)`"""

    def fetch(
        self,
        topic: str,
        partition: int = 0,
        *,
        offset: int = 0,
        isolation: str = UNCOMMITTED,
        max_wait_ms: int = MAX_WAIT_MS,
        min_bytes: int = 1,
        max_bytes: int = 0x7FFFFFFF,
        partition_max_bytes: int = 1 << 20,
        leader_epoch: int = -1,
        session_id: int = 0,
        session_epoch: int = -1,
        version: int | None = None,
        to: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Fetched:
        """One Fetch of one partition, from its leader or from the node named.

        By default it waits for data as ordinary clients do: up to half a second, where there is none.
        """
        asked = request(
            "Fetch",
            replica_id=-1,
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=int(isolation == COMMITTED),
            session_id=session_id,
            session_epoch=session_epoch,
            topics=[
                {
                    "topic": topic,
                    "topic_id": self.topic_id(topic),
                    "partitions": [
                        {
                            "partition": partition,
                            "current_leader_epoch": leader_epoch,
                            "fetch_offset": offset,
                            "partition_max_bytes": partition_max_bytes,
                        }
                    ],
                }
            ],
        )
        settled = retry and to is None and leader_epoch < 0 and partition in self.known_partitions(topic)
        plain = version is None and isolation == UNCOMMITTED and session_epoch < 0 and leader_epoch < 0
        return self.ask_as(
            Fetched,
            asked,
            version=self.by_name("Fetch", [topic], 12) if version is None else version,
            to=(lambda: self.leader(topic, partition)) if to is None else to,
            via=via,
            wait=wait,
            may_take_s=max_wait_ms / 1000,
            retry_on=LEADER_UNSETTLED if settled else (),
            refresh=lambda: self.refresh_metadata(topic),
            step="read" if plain and self._is_led_by(to, topic, partition) else "",
        )

    def read_all(
        self,
        topic: str,
        partition: int = 0,
        *,
        offset: int | None = None,
        isolation: str = UNCOMMITTED,
        within: float = 30.0,
        via: str = "main",
    ) -> ReadLog:
        """Everything from the log start (or `offset`) to the end, read as a consumer does, by following positions.

        `committed` stops at the last stable offset and leaves out the records of aborted transactions. A reader that
        stops short of the end fails the case.
        """
        position = self.log_start(topic, partition, via=via) if offset is None else offset
        end = self.log_end(topic, partition, isolation=isolation, via=via)
        reading = PositionReader(isolation)
        began = self._exchanger.clock()[0]
        while position < end:
            answer = self.fetch(
                topic, partition, offset=position, isolation=isolation, max_wait_ms=500, min_bytes=1, via=via
            ).must_succeed()
            position = reading.take(answer, position)
            if self._exchanger.clock()[0] - began > (within + self.slack_s) * 1e9:
                self.too_late(
                    f"the reader stands at offset {position} of {topic}-{partition} and the end is {end}; "
                    f"it must get there within {within + self.slack_s:.0f} s",
                    answer.asked.evidence((f"{answer.row}.records",)),
                    (answer.asked.number,),
                )
        return ReadLog(reading.records, reading.parts, reading.answers, f"{topic}-{partition} read_{isolation}")

    def log_start(self, topic: str, partition: int = 0, *, via: str = "main") -> int:
        """The first offset that is still there."""
        return self._bound(topic, partition, -2, UNCOMMITTED, via)

    def log_end(self, topic: str, partition: int = 0, *, isolation: str = UNCOMMITTED, via: str = "main") -> int:
        """The high watermark, or the last stable offset for `committed`."""
        return self._bound(topic, partition, -1, isolation, via)

    def await_settled(self, topic: str, partition: int = 0, *, within: float = 10.0) -> int:
        """Waits until every transaction that wrote below the present end has ended; the last stable offset then.

        An end is acknowledged before its markers are in the partitions.
        """
        end = self.log_end(topic, partition)
        self.until(
            lambda: self.log_end(topic, partition, isolation=COMMITTED) >= end,
            within=within,
            what=f"the last stable offset of {topic}-{partition} comes to {end}",
        )
        return end

    def _bound(self, topic: str, partition: int, which: int, isolation: str, via: str) -> int:
        asked = request(
            "ListOffsets",
            replica_id=-1,
            isolation_level=int(isolation == COMMITTED),
            timeout_ms=10_000,
            topics=[{"name": topic, "partitions": [{"partition_index": partition, "timestamp": which}]}],
        )
        answer = self.ask(
            asked,
            to=lambda: self.leader(topic, partition),
            via=via,
            retry_on=END_UNSETTLED,
            refresh=lambda: self.refresh_metadata(topic),
            step="" if isolation == COMMITTED else "ends",
        ).must_succeed()
        return int(answer.struct.topics[0].partitions[0].offset)


class PositionReader:
    """Follows positions as a client does, and leaves out what was aborted when asked to."""

    def __init__(self, isolation: str) -> None:
        self.records: list[Record] = []
        self.parts: list[Batch] = []
        self.answers: list[Fetched] = []
        self._filters = isolation == COMMITTED
        self._aborting: set[int] = set()

    def take(self, answer: Fetched, position: int) -> int:
        self.answers.append(answer)
        aborted = sorted(answer.aborted, key=lambda row: row[1])
        for part in answer.batches:
            header = part.header
            if header.last_offset < position:
                continue
            while aborted and aborted[0][1] <= header.last_offset:
                self._aborting.add(aborted.pop(0)[0])
            self.parts.append(part)
            if header.is_control:
                self._aborting.discard(header.producer_id)
            elif not (self._filters and header.is_transactional and header.producer_id in self._aborting):
                self.records += [record for record in answer.records_of(part) if record.offset >= position]
            position = header.last_offset + 1
        return position

"""What of one batch survives a round of compaction, as bytes; and what is known of the transactions on the way.

Rules, all of them Kafka's (LogCleaner, KIP-534):
- a record goes when a later one of its key is known, when it has no key, or when it is a tombstone past its horizon;
- a batch that loses records keeps base offset, last offset, producer, sequence, codec and leader epoch;
- data of an aborted transaction goes at once; a marker whose transaction has nothing left is dated first, and goes at
  a later round once delete.retention.ms is over, as tombstones do;
- an empty batch stays where it is the last of its producer (its sequence is still asked for) or ends the round.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log.batch import Header, read_header
from brokertrial.reference_impl.log.producers import ProducerTable
from brokertrial.reference_impl.log.segment import Aborted, Segment
from brokertrial.wire.records import Batch, Record, batches, build_batch

_TRANSACTIONAL_OR_CONTROL, _DELETE_HORIZON = 0x30, 0x40
_APPEND_TIME = 0x08
_LATEST_MS = 2**63 - 1


def known_as(key: bytes) -> bytes:
    """What a key is told apart by: itself, and a checksum with B301 alone."""
    return zlib.crc32(key).to_bytes(4) if bugs.on("B301") else key


@dataclass(slots=True)
class TransactionsSeen:
    """Which transactions the batches so far belong to; batches must come in the order of the log."""

    aborted: list[Aborted]
    kept: list[Aborted] = field(default_factory=list)
    """Aborted transactions that readers still have to know of."""
    _aborting: dict[int, tuple[Aborted, bool]] = field(default_factory=dict)
    _committing: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, segments: list[Segment], from_offset: int = 0) -> TransactionsSeen:
        """The aborted transactions that end at `from_offset` or later.

        `segments` are all of the log: the one that holds the marker knows of it, and may be beyond what is cleaned.
        """
        found = [entry for segment in segments for entry in segment.aborted if entry.last_offset >= from_offset]
        return cls(sorted(found, key=lambda entry: entry.first_offset, reverse=True))

    def aborts(self, header: Header) -> bool:
        """True for a data batch of a transaction that was aborted."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional or bugs.on("M36f"):
            return False
        if header.producer_id in self._aborting:
            self._aborting[header.producer_id] = (self._aborting[header.producer_id][0], True)
            return True
        self._committing.add(header.producer_id)
        return False

    def control(self, batch: Batch) -> bool:
        """True for a marker whose transaction has left nothing in the log; it is not needed any more."""
        header = batch.header
        self._begin_up_to(header.last_offset)
        if header.record_count == 0:
            return True
        if batch.marker().kind == "COMMIT":
            committed = header.producer_id in self._committing
            self._committing.discard(header.producer_id)
            return not committed
        entry, has_data = self._aborting.pop(header.producer_id, (None, False))
        if entry is not None and has_data:
            self.kept.append(entry)
        return not has_data

    def _begin_up_to(self, offset: int) -> None:
        while self.aborted and self.aborted[-1].first_offset <= offset:
            entry = self.aborted.pop()
            self._aborting.setdefault(entry.producer_id, (entry, False))


@dataclass(slots=True)
class BatchFilter:
    """The rules of one round."""

    latest: dict[bytes, int]
    end: int
    producers: ProducerTable
    transactions: TransactionsSeen
    now_ms: int
    delete_retention_ms: int
    firsts: dict[bytes, int] = field(default_factory=dict)
    """Empty in a healthy broker: which record of each key came first."""

    def cleaned(self, batch: Batch) -> bytes:
        """What is left of a batch; nothing at all where nothing has to be left."""
        header = batch.header
        spent = self.transactions.control(batch) if header.is_control else self.transactions.aborts(header)
        due = header.has_delete_horizon and header.base_timestamp <= self.now_ms
        if header.is_control:
            over = spent and (due or bugs.on("Z13"))
            kept = [] if over else [r for r in batch.records() if not self._taken_for_data(r)]
        else:
            kept = [] if spent else [r for r in batch.records() if self._stays(r, header)]
        if not kept:
            return _emptied(header) if self._needed(header) else b""
        looked_at = kept[:1] if bugs.on("L09") else kept
        dates = (spent and header.is_control) or any(record.value is None for record in looked_at)
        first_pass = header.max_timestamp if bugs.on("U02") else self.now_ms
        horizon = (
            min(first_pass + self.delete_retention_ms, _LATEST_MS)
            if dates and (not header.has_delete_horizon or bugs.on("L10"))
            else None
        )
        if len(kept) == header.record_count and horizon is None:
            return bytes(batch.bytes)
        return _rebuilt(header, kept, horizon)

    def _stays(self, record: Record, header: Header) -> bool:
        if record.offset >= self.end:
            return True
        if (
            record.key is None
            or (record.key == b"" and bugs.on("E03"))
            or self._superseded(bytes(record.key), record.offset)
        ):
            return False
        if record.value is None and bugs.on("M36c"):
            return False
        if record.value is None and bugs.on("P22"):
            return True
        return record.value is not None or not (header.has_delete_horizon and header.base_timestamp <= self.now_ms)

    def _taken_for_data(self, marker: Record) -> bool:
        return marker.key is not None and self._superseded(bytes(marker.key), marker.offset) and bugs.on("K34")

    def _superseded(self, key: bytes, offset: int) -> bool:
        """Whether a later record of this key is known."""
        if bugs.on("M36a"):
            return self.firsts.setdefault(key, offset) != offset
        return offset < self.latest.get(known_as(key), -1)

    def _needed(self, header: Header) -> bool:
        """Whether this batch must stay although it is empty."""
        if header.last_offset + 1 == self.end and not bugs.on("K28"):
            return True
        entry = self.producers.entries.get(header.producer_id)
        if entry is None:
            return False
        if entry.batches and bugs.on("D80"):
            return not header.is_control and header.last_sequence == entry.last_sequence
        if entry.batches:
            return not header.is_control and header.last_offset == entry.batches[-1].last_offset
        return header.is_control and header.producer_epoch == entry.epoch


def batch_of(segment: Segment, position: int) -> Batch:
    """The whole batch at a position of a segment."""
    header = read_header(segment.pread(61, position))
    return next(batches(segment.pread(header.size, position)))


def _rebuilt(header: Header, kept: list[Record], horizon: int | None) -> bytes:
    """The batch with these records alone; what identifies it, and the place of each record, stays."""
    if horizon is None and header.has_delete_horizon:
        horizon = header.base_timestamp
    if bugs.on("M36e"):
        kept = [replace(record, headers=()) for record in kept]
    first = 0 if bugs.on("M36b") else kept[0].offset - header.base_offset
    kept_attributes = header.attributes & ~_DELETE_HORIZON
    if header.has_delete_horizon and bugs.on("J03"):
        horizon, kept_attributes = None, header.attributes
    newest = max(record.timestamp for record in kept)
    return build_batch(
        kept,
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        offset_deltas=[record.offset - kept[0].offset + first for record in kept],
        compression=header.compression,
        last_offset_delta=header.last_offset_delta,
        attributes=kept_attributes | (0 if horizon is None else _DELETE_HORIZON),
        base_timestamp=kept[0].timestamp if horizon is None else horizon,
        max_timestamp=header.max_timestamp if header.timestamp_type == "append" else newest,
    )


def _emptied(header: Header) -> bytes:
    """The batch with nothing in it: its offsets and its producer's sequence are still there."""
    return build_batch(
        [],
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        attributes=header.attributes & (_TRANSACTIONAL_OR_CONTROL | _APPEND_TIME),
        last_offset_delta=header.last_offset_delta,
        base_timestamp=header.max_timestamp,
        max_timestamp=header.max_timestamp,
    )

"""A partition's log as one full read showed it, and what every other answer about it must therefore say. Pure.

batches      0..2 time 10..12 | 3 (transaction of producer 7) | 4 ABORT of 7
at time 11   offset 1                    committed    0, 1, 2
epoch ends   the first offset of a later epoch, else the end
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from brokertrial.wire.records import Batch, Record

ABORT = "ABORT"


class LogModel:
    """`batches` in the order of their offsets, from `start` to `end`."""

    def __init__(self, batches: Sequence[Batch], start: int, end: int) -> None:
        self.batches = list(batches)
        self.start = start
        self.end = end

    def records(self, *, control: bool) -> Iterator[Record]:
        """Every record at or behind the start, with the time that its batch's kind of time gives it."""
        for batch in self.batches:
            if batch.header.is_control and not control:
                continue
            for record in batch.records():
                if record.offset >= self.start:
                    yield record

    def offsets_at(self, time_ms: int) -> set[int]:
        """What ListOffsets may name for a time: the first record at or after it; whether a marker counts is open.

        None where records were deleted: Apache Kafka looks in the first segment with so late a time and in no other
        (UnifiedLog.searchOffsetInLocalLog), though what made it so late may lie below the start of the log.
        """
        hidden = {-1} if self.start > 0 else set[int]()
        return {self._first_at(time_ms, control=False), self._first_at(time_ms, control=True), *hidden}

    def _first_at(self, time_ms: int, *, control: bool) -> int:
        return next((record.offset for record in self.records(control=control) if record.timestamp >= time_ms), -1)

    def epoch_end(self, epoch: int) -> int:
        """Where an epoch of the log ended."""
        later = (batch.header.base_offset for batch in self.batches if batch.header.leader_epoch > epoch)
        return max(next(later, self.end), self.start)

    def epoch_end_at_least(self, epoch: int) -> int:
        """The same of a log whose first batches of the next epoch may have been compacted away."""
        of_it = (batch.header.last_offset + 1 for batch in self.batches if batch.header.leader_epoch <= epoch)
        return max(of_it, default=self.start)

    def gap(self) -> tuple[int, int] | None:
        """The first place where offsets are missing between two batches, or at the end, or where they go back."""
        for before, batch in pairwise(self.batches):
            if batch.header.base_offset != before.header.last_offset + 1:
                return before.header.last_offset + 1, batch.header.base_offset
        behind = self.batches[-1].header.last_offset + 1 if self.batches else self.end
        return (behind, self.end) if behind < self.end else None

    @property
    def beyond_the_end(self) -> int | None:
        """The last offset of a batch that lies behind the end that was named; None where nothing does."""
        last = max((batch.header.last_offset for batch in self.batches), default=-1)
        return last if last >= self.end else None

    @property
    def open_since(self) -> int | None:
        """The first offset of a transaction that has not ended."""
        begun: dict[int, int] = {}
        for batch in self.batches:
            header = batch.header
            if header.is_control:
                begun.pop(header.producer_id, None)
            elif header.is_transactional:
                begun.setdefault(header.producer_id, header.base_offset)
        return min(begun.values(), default=None)

    def committed(self, below: int) -> list[int]:
        """The offsets that a read_committed reader must get, up to `below`: what no abort marker follows."""
        aborted: set[int] = set()
        waiting: dict[int, list[int]] = {}
        for number, batch in enumerate(self.batches):
            header = batch.header
            if header.is_control:
                ended = waiting.pop(header.producer_id, [])
                aborted.update(ended if _aborts(batch) else ())
            elif header.is_transactional:
                waiting.setdefault(header.producer_id, []).append(number)
        return [
            record.offset
            for number, batch in enumerate(self.batches)
            if number not in aborted and not batch.header.is_control
            for record in batch.records()
            if self.start <= record.offset < below
        ]


def _aborts(batch: Batch) -> bool:
    """Whether a marker aborts; what compaction left of one, without its record, ends what it has kept: no."""
    return batch.header.record_count > 0 and batch.marker().kind == ABORT


class LastOf(msgspec.Struct, frozen=True):
    """What a producer wrote last."""

    epoch: int
    sequence: int
    is_marker: bool


def last_of_producers(model: LogModel) -> dict[int, LastOf]:
    """By producer id; only those whose batches carry sequences."""
    found: dict[int, LastOf] = {}
    for batch in model.batches:
        header = batch.header
        if header.producer_id >= 0:
            found[header.producer_id] = LastOf(header.producer_epoch, header.last_sequence, header.is_control)
    return found

"""Log compaction: of each key the latest record stays, where it was (Kafka's log cleaner).

    segments   0 ........ | 3 ........ | 6 ........ | 9 ....      the newest is never touched
               clean        dirty -------------->     beyond what may be cleaned

A round reads the dirty part into a map of key -> latest offset, then copies every segment up to there, batch by batch,
without what the map has overtaken. `clean` is a generator: it yields after each piece of work, so that its caller may
serve requests in between; a log that changed underneath (retention, a truncation) ends the round without effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log.compaction_filter import BatchFilter, TransactionsSeen, batch_of, known_as
from brokertrial.reference_impl.log.compaction_swap import read_checkpoint, replace_segments, write_checkpoint

if TYPE_CHECKING:
    from brokertrial.reference_impl.log.partition_log import PartitionLog
    from brokertrial.reference_impl.log.segment import Segment

BATCHES_A_STEP = 64
_FIT = 10_000
"""Keys that a cleaner with a planted bug knows."""


@dataclass(frozen=True, slots=True)
class Dirt:
    """What a round would do: bytes that are clean, bytes that are dirty and may be cleaned, and where they lie."""

    first_dirty: int
    end: int
    clean_bytes: int
    cleanable_bytes: int
    overdue: bool

    @property
    def ratio(self) -> float:
        return self.cleanable_bytes / max(self.clean_bytes + self.cleanable_bytes, 1)

    def worth_it(self, min_ratio: float) -> bool:
        """Enough of it to pass min.cleanable.dirty.ratio, or too old for max.compaction.lag.ms (KIP-354)."""
        return self.cleanable_bytes > 0 and (self.overdue or self.ratio > min_ratio or bugs.on("L11"))


def dirt(log: PartitionLog, ceiling: int, now_ms: int) -> Dirt:
    """How dirty a log is below `ceiling`, the last stable offset: nothing above it is decided yet (KAFKA-13194)."""
    first_dirty = read_checkpoint(log.folder)
    if not log.start_offset <= first_dirty <= log.end_offset:
        first_dirty = log.start_offset
    end, overdue, clean, cleanable = log.segments[0].base_offset, False, 0, 0
    for segment, following in zip(log.segments, log.segments[1:], strict=False):
        dirty = following.base_offset > first_dirty
        newest = (segment.first_timestamp or 0) if bugs.on("L07") else segment.max_timestamp
        young = dirty and newest > now_ms - log.settings.min_compaction_lag_ms
        undecided = following.base_offset > ceiling and not bugs.on("L16")
        if undecided or (young and log.settings.min_compaction_lag_ms > 0):
            break
        end = following.base_offset
        cleanable, clean = cleanable + dirty * segment.size, clean + (not dirty) * segment.size
        began = segment.max_timestamp if bugs.on("L08") else segment.first_timestamp or 0
        overdue = overdue or (dirty and 0 < began < now_ms - log.settings.max_compaction_lag_ms)
    return Dirt(first_dirty, end, clean, cleanable, overdue)


class _Changed(Exception):
    """The log is not the one any more that this round began with."""


def clean(log: PartitionLog, found: Dirt, now_ms: int) -> Iterator[None]:
    """One round over everything below `found.end`; yields between pieces of work."""
    with suppress(_Changed):
        yield from _clean(log, found, now_ms)


def _clean(log: PartitionLog, found: Dirt, now_ms: int) -> Iterator[None]:
    segments = [s for s in log.segments if s.base_offset < found.end]
    latest: dict[bytes, int] = {}
    yield from _read_keys(log, segments, found, latest)
    rules = BatchFilter(
        latest, found.end, log.producers, TransactionsSeen.of(log.segments), now_ms, log.settings.delete_retention_ms
    )
    if counts_too_early():
        write_checkpoint(log.folder, min(found.end, log.active.base_offset))
    for group in _grouped(segments, log.settings.segment_bytes):
        cleaned = bytearray()
        aborted_before = len(rules.transactions.kept)
        for done, (segment, position) in enumerate(_places(log, group)):
            cleaned += rules.cleaned(batch_of(segment, position))
            if done % BATCHES_A_STEP == BATCHES_A_STEP - 1:
                yield
        if not replace_segments(log, group, bytes(cleaned), rules.transactions.kept[aborted_before:]):
            return
        yield
    end = log.active.base_offset if bugs.on("B65") else min(found.end, log.active.base_offset)
    write_checkpoint(log.folder, end)  # a truncation may have come between


def counts_too_early() -> bool:
    """Not in a healthy broker: whether a round counts as done once its keys are read."""
    return bugs.on("B300")


def _read_keys(log: PartitionLog, segments: list[Segment], found: Dirt, latest: dict[bytes, int]) -> Iterator[None]:
    """Maps the keys of the dirty part to their latest offsets; aborted records do not count."""
    dirty = [s for s in segments if _end(log, s) > found.first_dirty]
    transactions = TransactionsSeen.of(log.segments, found.first_dirty)
    for done, (segment, position) in enumerate(_places(log, dirty)):
        if len(latest) >= _FIT and bugs.on("B280"):
            return
        batch = batch_of(segment, position)
        if done % BATCHES_A_STEP == BATCHES_A_STEP - 1:
            yield
        if batch.header.is_control:
            transactions.control(batch)
        elif not transactions.aborts(batch.header) or bugs.on("M36h"):
            for record in batch.records():
                if record.key is None and bugs.on("B78"):
                    raise ValueError("a record of a compacted topic has no key")
                if record.key is not None and record.offset >= found.first_dirty:
                    latest[known_as(bytes(record.key))] = record.offset


def _end(log: PartitionLog, segment: Segment) -> int:
    following = log.segments[log.segments.index(segment) + 1 :]
    return following[0].base_offset if following else log.end_offset


def _places(log: PartitionLog, segments: list[Segment]) -> Iterator[tuple[Segment, int]]:
    """Every batch, as long as its segment is part of the log: between two steps it may have been deleted."""
    for segment in segments:
        if segment not in log.segments:
            raise _Changed
        for position in [position for position, _ in segment.headers()]:
            if segment not in log.segments:
                raise _Changed
            yield segment, position


def _grouped(segments: list[Segment], limit: int) -> Iterator[list[Segment]]:
    """Neighbours that fit one segment together: a log that shrinks needs fewer of them."""
    group: list[Segment] = []
    size = 0
    for segment in segments:
        if group and size + segment.size > limit:
            yield group
            group, size = [], 0
        group.append(segment)
        size += segment.size
    if group:
        yield group

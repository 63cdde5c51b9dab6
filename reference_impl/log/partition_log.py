"""The log of one partition: segments, producers, leader epochs. Synchronous; knows only the file system."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log import synced
from brokertrial.reference_impl.log.batch import Header
from brokertrial.reference_impl.log.epochs import LeaderEpochs
from brokertrial.reference_impl.log.producers import Completed, ProducerTable
from brokertrial.reference_impl.log.segment import INDEX_ENTRY, Aborted, Segment
from brokertrial.reference_impl.settings.config import LogSettings
from brokertrial.wire import records

log = logging.getLogger("log")
NO_TIMESTAMP = -1
_Predicate = Callable[[Segment, int], bool]


class TimedOffset(NamedTuple):
    """A record found by its time."""

    offset: int
    timestamp: int
    leader_epoch: int


class PartitionLog:
    """Batches by offset. Opened by `recovery.open_log`, which finds out what survived."""

    def __init__(self, folder: Path, settings: LogSettings) -> None:
        self.folder = folder
        self.settings = settings
        self.segments: list[Segment] = []
        self.start_offset = 0
        self.end_offset = 0
        self.producers = ProducerTable()
        self.epochs = LeaderEpochs(folder / "leader-epochs")
        self._unflushed = 0
        self._unstable: int | None = None
        self._ended: list[Completed] = []  # transactions whose marker may not be replicated yet

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def first_unstable(self) -> int | None:
        """Where the oldest open transaction begins; in Kafka never below the batch of the log's start."""
        if self._unstable is None or self._unstable >= self.start_offset or bugs.on("V11"):
            return self._unstable
        segment = self.segments[self.segment_index(self.start_offset)]
        held = next(segment.headers(segment.position_of(self.start_offset)), None)
        return self.start_offset if held is None else min(held[1].base_offset, self.start_offset)

    def first_unreplicated(self, high_watermark: int) -> int | None:
        """Where the oldest transaction begins whose marker lies at or above this offset; those below are forgotten."""
        if not self._ended:
            return None
        first = high_watermark + bugs.on("B29")
        self._ended = [one for one in self._ended if one.last_offset >= first]
        return min((one.first_offset for one in self._ended), default=None)

    # Writing

    def append(self, batch: bytearray, header: Header, now_ms: int) -> None:
        """Appends a batch whose offset and epoch are already in place, and follows it in every table."""
        if self._must_roll(header, now_ms):
            self.roll(now_ms)
        self.active.append(batch, header)
        self.active.written_ms = now_ms
        self.end_offset = header.last_offset + 1
        self.follow(batch, header)
        self.epochs.assign(header.leader_epoch, header.base_offset)
        self._unflushed += header.record_count
        if self._unflushed >= self.settings.flush_messages:
            self.flush()

    def follow(self, batch: bytes | bytearray | memoryview, header: Header, *, index_aborted: bool = True) -> None:
        """Updates producers and the aborted transactions for a batch that is in the log."""
        if header.producer_id < 0:
            return
        if not header.is_control:
            self.producers.record(header)
            if header.is_transactional and self._unstable is None:
                self._unstable = header.base_offset
            return
        if header.record_count == 0:
            return  # compaction has emptied this marker: of its transaction nothing is left
        marker = next(records.batches(batch)).marker()
        if marker.coordinator_epoch is None:
            return  # a control batch of another kind
        commit = marker.kind == "COMMIT"
        completed = self.producers.record_marker(header, marker.coordinator_epoch, commit=commit)
        if completed is None and bugs.on("D96"):
            completed = Completed(header.producer_id, header.base_offset, header.base_offset, aborted=not commit)
        self._unstable = self.producers.first_unstable()
        if completed is not None:
            self._ended.append(completed)
        if completed is not None and completed.aborted and index_aborted:
            self._remember_aborted(completed)

    def _remember_aborted(self, completed: Completed) -> None:
        stable = self.producers.first_unstable()
        self.active.add_aborted(
            Aborted(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                completed.last_offset + 1 if stable is None else stable,
            )
        )

    def refresh_unstable(self) -> None:
        """Asks the producers again (after recovery and restored snapshots)."""
        self._ended = [one for one in self._ended if one.last_offset < self.end_offset]
        self._unstable = self.producers.first_unstable()

    def _must_roll(self, header: Header, now_ms: int) -> bool:
        active = self.active
        if active.size == 0:
            return False
        if active.size > self.settings.segment_bytes - header.size:
            return True
        if active.index_entries >= self.settings.segment_index_bytes // INDEX_ENTRY:
            return True
        if active.first_timestamp is not None and active.first_timestamp >= 0 and header.max_timestamp >= 0:
            waited = header.max_timestamp - active.first_timestamp
        else:
            waited = now_ms - active.created_ms
        return waited > self.settings.segment_ms

    def roll(self, now_ms: int) -> None:
        """Finishes the active segment and begins a new one at the log's end."""
        self.active.write_index()
        if self._unflushed:
            self.flush()
        fresh = Segment(self.folder, self.end_offset, now_ms, self.settings.index_interval_bytes)
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh.path.touch()
        self.write_snapshot()
        self.segments.append(fresh)

    def flush(self) -> None:
        self.active.sync()
        self._unflushed = 0

    # Reading

    def segment_of(self, offset: int) -> Segment:
        """The segment that holds an offset."""
        return self.segments[self.segment_index(offset)]

    def segment_index(self, offset: int) -> int:
        """The index of the segment that holds this offset."""
        return max(bisect_right(self.segments, offset, key=lambda s: s.base_offset) - 1, 0)

    def read(self, offset: int, max_bytes: int, below: int, *, at_least_one: bool) -> bytes:
        """Whole batches from the one that holds `offset`, none at or above `below`; at least one if asked."""
        first = self.segment_index(offset)
        for segment in self.segments[first : first + 2 if bugs.on("B344") else None]:
            if segment.base_offset >= below:
                break
            if offset == segment.base_offset > self.start_offset and bugs.on("P27"):
                break
            position = segment.position_of(offset)
            if position < segment.size:
                bound = self.end_offset if segment is not self.active and bugs.on("D95") else below
                return segment.read(position, max_bytes, bound, at_least_one)
        return b""

    def aborted(self, from_offset: int, upper_bound: int) -> list[Aborted]:
        """The aborted transactions that touch this range of offsets, in the order in which they ended."""
        found: list[Aborted] = []
        first = self.segment_index(from_offset)
        for segment in self.segments[first:]:
            for entry in segment.aborted:
                if entry.last_offset >= from_offset and entry.first_offset < upper_bound:
                    if bugs.on("M16") and entry.first_offset < self.segments[first].base_offset:
                        continue
                    if bugs.on("R33"):
                        entry = entry._replace(first_offset=entry.first_offset - segment.base_offset)
                    found.append(entry)
                if entry.last_stable_offset >= upper_bound:
                    return found
        return found

    def told_up_to(self, from_offset: int, size: int) -> int:
        """The offset up to which aborted transactions are told with so many bytes read from there.

        Not where the bytes end but, as in Kafka, the next offset that the index knows: more than needed does no harm.
        """
        first = self.segment_index(from_offset)
        for number, segment in enumerate(self.segments[first:], start=first + 1):
            position = segment.position_of(from_offset)
            if position < segment.size:
                following = self.segments[number].base_offset if number < len(self.segments) else self.end_offset
                indexed = segment.indexed_from(position + size)
                return following if indexed is None else indexed
        return self.end_offset

    def walk(self, from_offset: int | None = None) -> Iterator[tuple[Header, Segment, int]]:
        """Every batch header with its place, from the batch that holds an offset."""
        start = self.start_offset if from_offset is None else from_offset
        for segment in self.segments[self.segment_index(start) :]:
            for position, header in segment.headers(segment.position_of(start)):
                yield header, segment, position

    def reaching(self, timestamp: int) -> Iterator[tuple[Header, bytes]]:
        """Batches that hold a record at or after this time, in log order, not below the log's start."""
        for segment in self.segments:
            if segment.max_timestamp < timestamp:
                continue
            for position, header in segment.headers(segment.locate_time(timestamp)):
                if header.max_timestamp >= timestamp and (header.last_offset >= self.start_offset or bugs.on("M30d")):
                    yield header, segment.pread(header.size, position)

    def with_largest_timestamp(self) -> tuple[Header, bytes] | None:
        """The first batch that carries the largest timestamp of the log."""
        if not any(segment.size for segment in self.segments):
            return None
        newest = max(self.segments, key=lambda s: s.max_timestamp)  # the first of equals
        for position, header in newest.headers(newest.locate_time(newest.max_timestamp)):
            if header.max_timestamp == newest.max_timestamp:
                return header, newest.pread(header.size, position)
        return None

    # Shrinking

    def advance_start(self, offset: int, *, follows: bool = False) -> None:
        """Offsets below this one are gone for readers; durable before it returns, or OSError and as it was."""
        if offset > self.start_offset:
            if not (follows and bugs.on("B324")):
                self._save_start(offset)
            self.start_offset = offset
            if not bugs.on("L01"):
                self.epochs.truncate_start(offset)

    def begin_earlier(self, offset: int) -> None:
        """The log was truncated to before its start, and begins there. What was saved must not outlive that."""
        self.start_offset = offset
        try:
            self._save_start(offset)
        except OSError as error:
            log.warning("%s: where the log begins cannot be written: %s", self.folder, error)
            (self.folder / "log-start").unlink(missing_ok=True)

    def _begin_at(self, segment: Segment) -> None:
        """Everything before this segment goes. Its name says so too, so a full disk is no reason to keep the rest."""
        try:
            self.advance_start(segment.base_offset)
        except OSError as error:
            log.warning("%s: where the log begins cannot be written: %s", self.folder, error)
            self.start_offset = segment.base_offset
            self.epochs.truncate_start(segment.base_offset)

    def _save_start(self, offset: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / "log-start.new"
        temporary.write_text(f"{offset}\n", "ascii")
        temporary.replace(self.folder / "log-start")

    def apply_retention(self, now_ms: int, high_watermark: int) -> int:
        """Deletes the oldest segments that no limit keeps; the number of segments deleted."""
        if not self.settings.delete and bugs.on("Z43"):
            return 0
        deleted = self._delete_while(lambda _, following: following <= self.start_offset, now_ms, high_watermark)
        if not self.settings.delete or bugs.on("M35d"):
            return deleted
        limit = self.settings.retention_bytes
        if limit >= 0 and self.size >= limit and not (self.settings.compact and bugs.on("B345")):
            excess = self.size - limit

            def too_much(segment: Segment, _: int) -> bool:
                nonlocal excess
                over = excess > 0 and bugs.on("E07")
                excess -= segment.size
                return excess >= 0 or over or bugs.on("M35a")

            deleted += self._delete_while(too_much, now_ms, high_watermark)
        age = self.settings.retention_ms
        if age < 0 and bugs.on("P69"):
            age = 0
        if (age == 0 and bugs.on("E08")) or (0 <= limit <= self.size and bugs.on("Z17")):
            return deleted
        if age >= 0:
            deleted += self._delete_while(lambda s, _: now_ms - _newest(s) > age, now_ms, high_watermark)
        return deleted

    def _delete_while(self, condemned: _Predicate, now_ms: int, high_watermark: int) -> int:
        unstable = self.first_unstable()
        ceiling = high_watermark if unstable is None else min(high_watermark, unstable)
        ceiling = self.end_offset if bugs.on("M35c") else ceiling
        deletable = 0
        for index, segment in enumerate(self.segments):
            last = index + 1 == len(self.segments)
            following = self.end_offset if last else self.segments[index + 1].base_offset
            if following > ceiling or (last and segment.size == 0):
                break
            if condemned(segment, following):
                deletable += 1
            elif not bugs.on("B316"):
                break
        if deletable == len(self.segments):
            self.roll(now_ms)
        spared = 1 if 0 < deletable < len(self.segments) - 1 and bugs.on("M35b") else 0
        if 32 < deletable < len(self.segments) - 1 and bugs.on("B299"):
            deletable += 1
        if deletable and not spared:
            self._begin_at(self.segments[deletable])
        for segment in self.segments[spared : spared + deletable]:
            segment.delete()
        del self.segments[spared : spared + deletable]
        if deletable and self.active.size == 0 and bugs.on("D75"):
            self.producers = ProducerTable()
        return deletable

    # Stopping

    def write_snapshot(self) -> None:
        """Saves the producers as they are at the log's end. This snapshot stays, and that of each segment's beginning:
        from there a segment is read again after a kill, however often the log was closed since.
        """
        if not self.folder.exists():
            return
        path = self.folder / f"{self.end_offset:020d}.snapshot"
        synced.write_whole(path, self.producers.snapshot())
        kept = {self.end_offset, *(segment.base_offset for segment in self.segments)}
        for old in self.folder.glob("*.snapshot"):
            if int(old.stem) not in kept:
                old.unlink(missing_ok=True)

    def close(self, *, clean: bool) -> None:
        """Closes the files; a clean close leaves what the next start needs to skip recovery."""
        if clean and self.end_offset > 0:
            self.write_snapshot()
            self.active.write_index()
        for segment in self.segments:
            if clean:
                segment.sync()
            segment.close()


def _newest(segment: Segment) -> int:
    """The time that retention counts from: the largest timestamp, or that of the last write where no record has one."""
    if segment.max_timestamp >= 0 or bugs.on("E09"):
        return segment.max_timestamp
    if segment.written_ms or not segment.path.exists():
        return segment.written_ms or segment.created_ms
    if bugs.on("D87"):
        segment.path.touch()
    return int(segment.path.stat().st_mtime * 1000)

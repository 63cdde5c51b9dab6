"""One partition as its leader sees it: the log, the high watermark, those who wait for data, and what may be read.

With one node every appended batch is replicated at once, so the high watermark is the log's end; the two are kept
apart all the same, for that is what a follower changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from reference_impl import bugs
from reference_impl.clock import Clock
from reference_impl.config import TopicRules
from reference_impl.log import batch as batches
from reference_impl.log.batch import Header, read_header
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producers import Duplicate, ProducerTable, Refused
from reference_impl.log.segment import Aborted
from reference_impl.log.validate import Rejected, check_frame, validate
from wire import errors, records


class Appended(NamedTuple):
    """What a producer is told."""

    base_offset: int
    log_append_time: int


class Partition:
    """The leader's side of one partition."""

    def __init__(
        self, topic: str, index: int, log: PartitionLog, rules: TopicRules, clock: Clock, epoch: int, leader_id: int
    ) -> None:
        self.topic = topic
        self.index = index
        self.log = log
        self.rules = rules
        self.leader_epoch = epoch
        self.leader_id = leader_id
        self.high_watermark = log.end_offset
        self.deleted = False
        self._wedged = log.end_offset > 0 and bugs.on("M91")
        self._clock = clock
        self._watchers: set[Callable[[], None]] = set()
        log.epochs.assign(epoch, log.end_offset)

    @property
    def producers(self) -> ProducerTable:
        return self.log.producers

    @property
    def last_stable_offset(self) -> int:
        unstable = self.log.first_unstable()
        if unstable is None or bugs.on("M17"):
            return self.high_watermark
        return min(unstable, self.high_watermark)

    # Appending

    def append(self, data: memoryview | None, version: int, acks: int, *, swapped: bool = False) -> Appended:
        """Appends a client's batch, or raises Rejected; a duplicate is answered as it was the first time."""
        header = check_frame(data, version)
        assert data is not None
        if acks not in (-1, 0, 1):
            raise Rejected(errors.INVALID_REQUIRED_ACKS, f"acks={acks}")
        # min.insync.replicas asks for no more replicas than there are, so one replica always is enough (KIP-966).
        batch, append_time = validate(data, header, self.rules, self._clock.now_ms())
        if len(batch) > self.rules.log.segment_bytes:
            raise Rejected(errors.RECORD_LIST_TOO_LARGE, f"{len(batch)} bytes do not fit a segment")
        if self._wedged:
            raise Rejected(errors.NOT_ENOUGH_REPLICAS, "a planted bug: this partition takes nothing any more")
        verdict = self.log.producers.admit(header)
        if isinstance(verdict, Duplicate) and bugs.on("M90"):
            self._wedged, verdict = True, None
        if isinstance(verdict, Duplicate):
            offset = self.log.end_offset if bugs.on("M10b") else verdict.batch.base_offset
            return Appended(offset, verdict.batch.timestamp)
        if isinstance(verdict, Refused) and not swapped:
            raise Rejected(verdict.error, verdict.message, shows_log_start=True)
        if header.producer_id < 0 and bugs.on("M14") and self._last_bytes_again(batch):
            return Appended(self.log.end_offset - header.record_count, append_time)
        if header.producer_id < 0 and bugs.on("M01a"):
            return Appended(self.log.end_offset, append_time)
        base = self._append(batch)
        if swapped:
            self.log.producers.reorder(header.producer_id)
        return Appended(self._spoiled_offset(base, header), append_time)

    def append_internal(self, batch: bytes) -> int:
        """Appends a whole batch that the broker itself built; its base offset."""
        return self._append(bytearray(batch))

    def append_marker(self, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool) -> int:
        """Ends a producer's transaction in this partition with a control batch; an error code."""
        refused = self.log.producers.admit_marker(producer_id, producer_epoch, coordinator_epoch)
        if refused is not None:
            return refused.error
        if not commit and bugs.on("M15a"):
            return errors.NONE
        kind = "COMMIT" if commit or bugs.on("M15b") else "ABORT"
        marker = records.control_marker(
            kind, producer_id, producer_epoch, coordinator_epoch, timestamp=self._clock.now_ms()
        )
        self._append(bytearray(marker))
        return errors.NONE

    def _append(self, batch: bytearray) -> int:
        base = self.log.end_offset + (1 if bugs.on("M08") else 0)
        batches.place(batch, base, self.leader_epoch)
        try:
            self.log.append(batch, read_header(batch), self._clock.now_ms())
        except OSError as error:
            raise Rejected(errors.KAFKA_STORAGE_ERROR, str(error)) from error
        self.high_watermark = self.log.end_offset
        self._tell_watchers()
        return base

    def _spoiled_offset(self, base: int, header: Header) -> int:
        """The base offset that the producer is told; home of two planted lies."""
        if bugs.on("M07a"):
            return base + header.last_offset_delta
        return 0 if bugs.on("M07b") else base

    def _last_bytes_again(self, batch: bytearray) -> bool:
        if self.log.end_offset == self.log.start_offset:
            return False
        last = self.log.read(self.log.end_offset - 1, 1, self.log.end_offset, at_least_one=True)
        return last[17:] == bytes(batch[17:])

    # Reading

    def check_epoch(self, epoch: int) -> int:
        """Compares the leader epoch that a client believes in with ours (KIP-320); -1 asks for no check."""
        if epoch < 0 or epoch == self.leader_epoch:
            return errors.NONE
        return errors.FENCED_LEADER_EPOCH if epoch < self.leader_epoch else errors.UNKNOWN_LEADER_EPOCH

    def readable_end(self, *, committed: bool) -> int:
        """Where a consumer's view ends: the last stable offset, or the high watermark."""
        return self.last_stable_offset if committed else self.high_watermark

    def read(self, offset: int, max_bytes: int, *, committed: bool, at_least_one: bool) -> bytes:
        """Whole batches that a consumer may see, from the one that holds this offset."""
        below = self.readable_end(committed=committed)
        if offset >= below:
            return b""
        return self.log.read(offset, max_bytes, below, at_least_one=at_least_one)

    def aborted(self, from_offset: int, data: bytes) -> list[Aborted]:
        """The aborted transactions that touch what was read."""
        if not data:
            return []
        return self.log.aborted(from_offset, _end_of(data))

    def batches(self) -> Iterator[records.Batch]:
        """Everything in the log, oldest first (coordinators read their state back with it)."""
        for header, segment, position in self.log.walk():
            yield from records.batches(segment.pread(header.size, position))

    def watch(self, callback: Callable[[], None]) -> None:
        """Calls back whenever there may be more to read, until `unwatch`."""
        self._watchers.add(callback)

    def unwatch(self, callback: Callable[[], None]) -> None:
        self._watchers.discard(callback)

    def _tell_watchers(self) -> None:
        for callback in tuple(self._watchers):
            callback()

    # Shrinking and going away

    def delete_records(self, before: int) -> tuple[int, int]:
        """Moves the log's start (-1: to the high watermark); an error code and the low watermark."""
        target = self.high_watermark if before == -1 else before
        if target > self.high_watermark or target < 0:
            return errors.OFFSET_OUT_OF_RANGE, -1
        if not bugs.on("M40h"):
            self.log.advance_start(target)
        return errors.NONE, self.log.start_offset

    def housekeeping(self) -> None:
        """Retention; called by a timer."""
        self.log.apply_retention(self._clock.now_ms(), self.high_watermark)

    def close(self, *, clean: bool) -> None:
        self.log.close(clean=clean)

    def discard(self) -> None:
        """The topic is deleted: whoever waits is woken and finds it gone."""
        self.deleted = True
        self.log.close(clean=False)
        self._tell_watchers()


def _end_of(data: bytes) -> int:
    """The offset behind the last batch of what was read."""
    position, end = 0, 0
    while position + batches.HEADER_SIZE <= len(data):
        header = read_header(data, position)
        end, position = header.last_offset + 1, position + header.size
    return end

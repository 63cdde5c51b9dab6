"""One replica of a partition: the log, the high watermark, those who wait for data, and what may be read.

It leads or it follows, as the controller says (`settle`). A leader appends what clients bring, and `leading` keeps the
books of its followers; with one replica every appended batch is replicated at once. A follower appends what its leader
has, byte by byte, and cuts off what the leader does not have.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container, Iterator
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.clock import Clock
from brokertrial.reference_impl.control.image import NOBODY, Placement
from brokertrial.reference_impl.log import batch as batches
from brokertrial.reference_impl.log import truncation
from brokertrial.reference_impl.log.batch import Header, read_header
from brokertrial.reference_impl.log.partition_log import PartitionLog
from brokertrial.reference_impl.log.producers import DuplicateBatch, ProducerTable, RejectedBatch
from brokertrial.reference_impl.log.segment import Aborted
from brokertrial.reference_impl.log.validate import Rejected, check_frame, validate
from brokertrial.reference_impl.replica.leading import FollowerProgress, Leading, Proposal
from brokertrial.reference_impl.settings.config import TopicRules
from brokertrial.wire import errors, records


class Appended(NamedTuple):
    """What a producer is told."""

    base_offset: int
    log_append_time: int
    end_offset: int  # acks=all waits until everything below is replicated


class Partition:
    """This broker's replica of one partition."""

    def __init__(
        self, topic: str, index: int, log: PartitionLog, rules: TopicRules, clock: Clock, me: int, topic_id: uuid.UUID
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.rules = rules
        self.leader_epoch = -1
        self.leader_id = NOBODY
        self.leading: Leading | None = None
        self._were_followers: dict[int, FollowerProgress] = {}
        """What B309 remembers of replicas that are gone."""
        self.led_since = -1
        """The epoch from which on this node leads, or led, with no other in between."""
        self.high_watermark = log.start_offset
        self._mark_before = log.start_offset  # the high watermark when the leader last changed
        self.deleted = False
        self._me = me
        self._clock = clock
        self._watchers: set[Callable[[], None]] = set()

    # Roles

    def settle(self, placement: Placement) -> None:
        """Takes the controller's word on who leads and who is in sync; an older word changes nothing."""
        now_s = self._clock.monotonic()
        self._were_followers = self._were_followers | self.leading.followers if self.leading is not None else {}
        if placement.leader_epoch > self.leader_epoch:
            taken_over = self.leader_epoch >= 0
            leads_on = self.leading is not None and placement.leader_epoch == self.leader_epoch + 1
            self.leader_id, self.leader_epoch = placement.leader, placement.leader_epoch
            if self.leading is not None and bugs.on("B43"):
                self.high_watermark = min(self.high_watermark, max(self._mark_before, self.log.start_offset))
            self.leading, mark_before = None, self._mark_before
            self._mark_before = self.high_watermark
            if placement.leader == self._me:
                leads_on = leads_on and not bugs.on("B26")
                self.led_since = self.led_since if leads_on else placement.leader_epoch
                if taken_over:
                    self._taking_over(mark_before)
                    if bugs.on("B170"):
                        self._watchers.clear()
                end = self.log.end_offset
                if not bugs.on("L02"):
                    self.log.epochs.assign(placement.leader_epoch, end)
                self.leading = Leading(
                    self._me, placement.replicas, placement.isr, placement.partition_epoch, end, now_s
                )
        elif self.leading is not None:
            self.leading.settled(placement.replicas, placement.isr, placement.partition_epoch, now_s)
            if bugs.on("Z19"):
                return
        if self.leading is not None and bugs.on("B309"):
            self.leading.remember(self._were_followers)
        self._advance()

    def _taking_over(self, mark_before: int) -> None:
        """This replica followed, and leads from now on; what it has stands."""

    def checkpointed(self, high_watermark: int) -> None:
        """What was known to be replicated before a restart; true at least up to there."""
        self.high_watermark = max(self.high_watermark, min(high_watermark, self.log.end_offset))

    @property
    def under_min_isr(self) -> bool:
        return self.leading is not None and self.leading.under_min_isr(self.rules.min_insync_replicas)

    @property
    def end_is_known(self) -> bool:
        """False after an election until the high watermark has reached the new epoch: it may lag behind the old one."""
        return self.leading is None or self.high_watermark >= self.leading.epoch_start

    def _advance(self) -> None:
        """Moves the high watermark as far as it can go, and wakes whoever waits for news."""
        if self.leading is not None:
            self.high_watermark = self.leading.high_watermark(
                self.high_watermark, self.log.end_offset, self.rules.min_insync_replicas
            )
        self._tell_watchers()

    # Replication: the leader's side

    def replica_fetched(self, replica: int, start: int, offset: int, broker_epoch: int) -> None:
        """A follower has everything from its start up to this offset."""
        assert self.leading is not None
        moved = self.leading.followers[replica].start_offset != start and not bugs.on("B275")
        self.leading.fetched(replica, start, offset, self.log.end_offset, self._clock.monotonic(), broker_epoch)
        before = self.high_watermark
        self.high_watermark = self.leading.high_watermark(before, self.log.end_offset, self.rules.min_insync_replicas)
        if self.high_watermark > before or moved:
            self._tell_watchers()

    def low_watermark(self, alive: Container[int]) -> int:
        """Where the log begins on every living replica."""
        return self.leading.low_watermark(self.log.start_offset, alive) if self.leading else self.log.start_offset

    def propose(self, max_lag_s: float, alive: Container[tuple[int, int]]) -> Proposal | None:
        """An in-sync set to ask the controller for."""
        if self.leading is None:
            return None
        return self.leading.proposal(
            self.high_watermark, self.log.end_offset, self._clock.monotonic(), max_lag_s, alive
        )

    # Replication: the follower's side

    def replicate(self, data: bytes | memoryview, leader_high_watermark: int, leader_start: int) -> None:
        """Appends what the leader sent, as it is, and learns how much of it is replicated. ValueError: damaged."""
        position, known = 0, self.log.epochs.latest()
        while position + batches.HEADER_SIZE <= len(data):
            header = read_header(data, position)
            batch = bytearray(data[position : position + header.size])
            if len(batch) < header.size or not batches.crc_matches(header, batch):
                raise ValueError(f"{self.topic}-{self.index}: a damaged batch at offset {header.base_offset}")
            if header.size > self.rules.max_message_bytes and bugs.on("Z41"):
                raise ValueError(f"{self.topic}-{self.index}: {header.size} bytes are too many for one batch")
            hole = not position and header.base_offset > self.log.end_offset and not self.rules.compacted
            if hole and bugs.on("B195"):
                raise ValueError(f"offset {self.log.end_offset} is not in what the leader sent")
            if header.base_offset < self.log.end_offset and bugs.on("Z27"):
                raise ValueError(f"offset {header.base_offset} is below the end of the log")
            if header.last_offset >= self.log.end_offset and (header.record_count or not bugs.on("B192")):
                self.log.append(batch, header, self._clock.now_ms())
                if not bugs.on("B153"):
                    self.producers.began(header)
            position += header.size
        if bugs.on("B96"):
            self.log.epochs.pass_over(-1 if known is None else known)
        self.high_watermark = max(self.high_watermark, min(leader_high_watermark, self.log.end_offset))
        if leader_start > self.log.start_offset:
            self.log.advance_start(min(leader_start, self.high_watermark), follows=True)
        if not bugs.on("K21"):
            self._tell_watchers()

    def part_ways(self, epoch: int, end_offset: int) -> None:
        """The leader's log and this one differ from there on: what the leader does not have goes."""
        own_epoch, own_end = self.log.epochs.end_offset(epoch, self.log.end_offset)
        ends = [end_offset, self.log.end_offset, *([own_end] if own_epoch >= 0 and not bugs.on("B48") else [])]
        truncation.truncate(self.log, max(min(ends), 0))
        if not bugs.on("B31"):
            self.high_watermark = min(self.high_watermark, self.log.end_offset)

    def start_over(self, offset: int) -> None:
        """What this follower asks for is gone at the leader: it begins again where the leader's log begins."""
        truncation.start_over(self.log, offset, self._clock.now_ms())
        self.high_watermark = offset

    @property
    def producers(self) -> ProducerTable:
        return self.log.producers

    @property
    def last_stable_offset(self) -> int:
        unstable = self.log.first_unstable()
        ended = self.log.first_unreplicated(self.high_watermark)
        if unstable is None and ended is None:
            return self.high_watermark
        return min(self.high_watermark, *(one for one in (unstable, ended) if one is not None))

    # Appending

    def append(self, data: memoryview | None, version: int, acks: int) -> Appended:
        """Appends a client's batch, or raises Rejected; a duplicate is answered as it was the first time."""
        header = check_frame(data, version)
        assert data is not None
        self._check_acks(acks)
        self._check_leads()
        if acks == -1 and self.under_min_isr:
            raise Rejected(errors.NOT_ENOUGH_REPLICAS, "too few replicas are in sync")
        batch, append_time = validate(data, header, self.rules, self._clock.now_ms())
        if len(batch) > self.rules.log.segment_bytes:
            if header.producer_id >= 0 and bugs.on("Z18"):
                self.log.producers.record(header)
            raise Rejected(errors.RECORD_LIST_TOO_LARGE, f"{len(batch)} bytes do not fit a segment")
        return self._admit(header) or self._store(batch, header, append_time)

    def _check_acks(self, acks: int) -> None:
        if acks not in (-1, 0, 1):
            raise Rejected(errors.INVALID_REQUIRED_ACKS, f"acks={acks}")

    def _check_leads(self) -> None:
        if self.leading is None:
            raise Rejected(errors.NOT_LEADER_OR_FOLLOWER, "another broker leads this partition")

    def _admit(self, header: Header) -> Appended | None:
        """What a producer is told of a batch that is here already; None: it is new. Rejected: it must not be stored."""
        verdict = self.log.producers.admit(header)
        if isinstance(verdict, DuplicateBatch):
            if bugs.on("R32"):
                first = self.log.segment_of(verdict.batch.base_offset).base_offset
                return Appended(verdict.batch.base_offset - first, verdict.batch.timestamp, self.log.end_offset)
            needed = verdict.batch.base_offset if bugs.on("X02") else verdict.batch.last_offset + 1
            if self.leading is not None and needed <= self.leading.epoch_start and bugs.on("B46"):
                needed = 0
            return Appended(verdict.batch.base_offset, verdict.batch.timestamp, needed)
        if isinstance(verdict, RejectedBatch):
            raise Rejected(verdict.error, verdict.message, shows_log_start=True)
        return None

    def _store(self, batch: bytearray, header: Header, append_time: int) -> Appended:
        return Appended(self._append(batch), append_time, self.log.end_offset)

    def append_internal(self, batch: bytes) -> int:
        """Appends a whole batch that the broker itself built; its base offset. Rejected if another broker leads."""
        if self.leading is None:
            raise Rejected(errors.NOT_LEADER_OR_FOLLOWER, "another broker leads this partition")
        return self._append(bytearray(batch))

    def append_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool, transaction_version: int = 0
    ) -> int:
        """Ends a producer's transaction in this partition with a control batch; an error code."""
        if self.leading is None:
            return errors.NOT_LEADER_OR_FOLLOWER
        if self.under_min_isr:
            return errors.NOT_ENOUGH_REPLICAS
        refused = self.log.producers.admit_marker(producer_id, producer_epoch, coordinator_epoch, transaction_version)
        if refused is not None:
            return refused.error
        self._write_marker(producer_id, producer_epoch, coordinator_epoch, commit)
        return errors.NONE

    def _write_marker(self, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool) -> None:
        kind, now_ms = "COMMIT" if commit else "ABORT", self._clock.now_ms()
        marker = records.control_marker(kind, producer_id, producer_epoch, coordinator_epoch, timestamp=now_ms)
        self._append(bytearray(marker))

    def _append(self, batch: bytearray) -> int:
        base = self._place(batch)
        if self.leading is not None and not bugs.on("B307"):
            self.leading.appending(self.log.end_offset, self._clock.monotonic())
        header = read_header(batch)
        try:
            self.log.append(batch, header, self._clock.now_ms())
        except OSError as error:
            raise Rejected(errors.KAFKA_STORAGE_ERROR, str(error)) from error
        self.producers.began(header)
        self._advance()
        return base

    def _place(self, batch: bytearray) -> int:
        """Writes the next offset and the leader epoch into the batch; the offset."""
        base = self.log.end_offset
        batches.place(batch, base, self.leader_epoch)
        return base

    # Reading

    def check_epoch(self, epoch: int) -> int:
        """Compares the leader epoch that a client believes in with ours (KIP-320); -1 asks for no check."""
        if epoch < 0 or epoch == self.leader_epoch:
            return errors.NONE
        if epoch < self.leader_epoch:
            return errors.FENCED_LEADER_EPOCH
        return errors.UNKNOWN_LEADER_EPOCH

    def readable_end(self, *, committed: bool) -> int:
        """Where a consumer's view ends: the last stable offset, or the high watermark."""
        if not committed and self.leading is None and bugs.on("X03"):
            return self.log.end_offset
        if self.leading is None and bugs.on("V16"):
            return self.high_watermark
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
        return self.log.aborted(from_offset, self.log.told_up_to(from_offset, len(data)))

    def batches(self) -> Iterator[records.Batch]:
        """Everything in the log, oldest first (coordinators read their state back with it)."""
        for header, segment, position in self.log.walk():
            yield from records.batches(segment.pread(header.size, position))

    def watch(self, callback: Callable[[], None]) -> None:
        """Calls back whenever there may be more to read, until `unwatch`."""
        self._watchers.add(callback)

    def unwatch(self, callback: Callable[[], None]) -> None:
        self._watchers.discard(callback)

    def forget_watchers(self) -> None:
        """What B294 does with all of them when one reader is gone."""
        self._watchers.clear()

    def _tell_watchers(self) -> None:
        for callback in tuple(self._watchers)[: 16 if bugs.on("B283") else None]:
            callback()

    # Shrinking and going away

    def delete_records(self, before: int) -> tuple[int, int]:
        """Moves the log's start (-1: to the high watermark); an error code and the low watermark."""
        target = before
        if before == -1:
            target = self.log.end_offset if bugs.on("B327") else self.high_watermark
        most = self.log.end_offset if bugs.on("B57") else self.high_watermark
        if target > most or target < 0:
            return errors.OFFSET_OUT_OF_RANGE, -1
        try:
            self._advance_start(target)
        except OSError:
            return errors.KAFKA_STORAGE_ERROR, -1
        self._tell_watchers()
        return errors.NONE, self.log.start_offset

    def _advance_start(self, to: int) -> None:
        self.log.advance_start(to)

    def housekeeping(self) -> None:
        """Retention; called by a timer."""
        if self.leading is None and bugs.on("B73"):
            return
        if self.log.apply_retention(self._clock.now_ms(), self.high_watermark):
            self._tell_watchers()

    def close(self, *, clean: bool) -> None:
        self.log.close(clean=clean)

    def discard(self) -> None:
        """The topic is deleted: whoever waits is woken and finds it gone."""
        self.deleted = True
        self.log.close(clean=False)
        self._tell_watchers()

"""A partition with a planted bug; a broker without one never makes it."""

from __future__ import annotations

from collections.abc import Container
from contextvars import ContextVar
from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.control.image import Placement
from brokertrial.reference_impl.log import batch as batches
from brokertrial.reference_impl.log import truncation
from brokertrial.reference_impl.log.batch import Header
from brokertrial.reference_impl.log.producers import ProducerTable
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.reference_impl.replica.leading import Proposal
from brokertrial.reference_impl.replica.partition import Appended, Partition
from brokertrial.wire import errors

OUT_OF_ORDER: ContextVar[bool] = ContextVar("out of order", default=False)
"""Whether the request at hand was kept back or overtook another: its sequence must not give that away."""


class SpoiledPartition(Partition):
    """Overrides what its bugs spoil, step by step; everything else is the healthy partition's."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._wedged = self.log.end_offset > 0 and bugs.on("M91")

    def settle(self, placement: Placement) -> None:
        resigns = self.leading is not None and placement.leader != self._me
        if placement.leader_epoch > self.leader_epoch and resigns and bugs.on("M32e"):
            return
        super().settle(placement)

    def _taking_over(self, mark_before: int) -> None:
        if bugs.on("M11b"):
            self.log.producers = ProducerTable()
        if bugs.on("M33c"):
            truncation.truncate(self.log, mark_before)
            self.high_watermark = self.log.end_offset
        for segment in self.log.segments if bugs.on("M16b") else ():
            segment.forget_aborted()

    @property
    def end_is_known(self) -> bool:
        return super().end_is_known or bugs.on("M33h")

    def propose(self, max_lag_s: float, alive: Container[tuple[int, int]]) -> Proposal | None:
        found = super().propose(max_lag_s, alive)
        if self.leading is not None and bugs.on("B01"):
            heard_s, books = self._clock.monotonic() - 1.0, self.leading.followers
            members = [books[one] for one in self.leading.isr if one in books]
            ends = [one.end_offset for one in members if one.caught_up_s > heard_s]
            self.high_watermark = max(self.high_watermark, min([self.log.end_offset, *ends]))
            self._tell_watchers()
        if found is not None and self.leading is not None and bugs.on("B04"):
            self.leading.isr = self.leading.isr.intersection(found.isr)
            self._advance()
        if found is None or self.leading is None or len(found.isr) >= len(self.leading.isr) or not bugs.on("M33e"):
            return found
        self.leading.isr, self.leading.proposed = frozenset(found.isr), None
        self._advance()
        return None

    # Appending

    def _check_acks(self, acks: int) -> None:
        if acks in (-1, 0, 1) or not bugs.on("P53"):
            super()._check_acks(acks)

    def _check_leads(self) -> None:
        if self.leading is not None or not bugs.on("M34d"):
            super()._check_leads()

    def _admit(self, header: Header) -> Appended | None:
        if self._wedged:
            raise Rejected(errors.NOT_ENOUGH_REPLICAS, "a planted bug: this partition takes nothing any more")
        try:
            known = super()._admit(header)
        except Rejected:
            if OUT_OF_ORDER.get():
                return None
            raise
        if known is None:
            return None
        if bugs.on("M90"):
            self._wedged = True
            return None
        return known._replace(base_offset=self.log.end_offset) if bugs.on("M10b") else known

    def _store(self, batch: bytearray, header: Header, append_time: int) -> Appended:
        if header.producer_id < 0 and bugs.on("M14") and self._last_bytes_again(batch):
            return Appended(self.log.end_offset - header.record_count, append_time, self.log.end_offset)
        if header.producer_id < 0 and bugs.on("M01a"):
            return Appended(self.log.end_offset, append_time, 0)
        stored = super()._store(batch, header, append_time)
        if OUT_OF_ORDER.get() and header.producer_id in self.producers.entries:
            self.producers.entries[header.producer_id].batches.sort()  # as if they had come in order
        if bugs.on("M07a"):
            return stored._replace(base_offset=stored.base_offset + header.last_offset_delta)
        return stored._replace(base_offset=0) if bugs.on("M07b") else stored

    def _last_bytes_again(self, batch: bytearray) -> bool:
        if self.log.end_offset == self.log.start_offset:
            return False
        last = self.log.read(self.log.end_offset - 1, 1, self.log.end_offset, at_least_one=True)
        return last[17:] == bytes(batch[17:])

    def _place(self, batch: bytearray) -> int:
        base = self.log.end_offset + (1 if bugs.on("M08") else 0)
        batches.place(batch, base, 0 if bugs.on("M32c") else self.leader_epoch)
        if bugs.on("P66"):
            batch[17] ^= 1
        return base

    def _write_marker(self, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool) -> None:
        if commit or not bugs.on("M15a"):
            super()._write_marker(producer_id, producer_epoch, coordinator_epoch, commit or bugs.on("M15b"))

    # Reading

    @property
    def last_stable_offset(self) -> int:
        stable = super().last_stable_offset
        return self.high_watermark if stable < self.high_watermark and bugs.on("M17") else stable

    def check_epoch(self, epoch: int) -> int:
        error = super().check_epoch(epoch)
        if error == errors.FENCED_LEADER_EPOCH and bugs.on("N52"):
            return errors.NONE
        return errors.NONE if error == errors.UNKNOWN_LEADER_EPOCH and bugs.on("P23") else error

    def readable_end(self, *, committed: bool) -> int:
        if bugs.on("M04"):
            return self.log.end_offset
        return super().readable_end(committed=committed or bugs.on("P72"))

    def _advance_start(self, to: int) -> None:
        if bugs.on("M40h"):
            return
        super()._advance_start(to)
        if bugs.on("M11c"):
            self.log.producers = ProducerTable()

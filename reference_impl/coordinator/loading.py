"""Partitions of an internal topic being read back by their new coordinator, a little at a time.

A large one takes seconds: all at once it would keep the node from giving signs of life, and the controller would fence
it. So the reading is cut into steps of a few milliseconds. Until it is done the coordinator of what lives there answers
COORDINATOR_LOAD_IN_PROGRESS, as Kafka's does; markers may be written meanwhile, for they are read like everything else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.clock import Clock, Timer
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.wire import errors
from brokertrial.wire.codec import Malformed
from brokertrial.wire.records import Batch, batches

STEP_S = 0.005
_LONG_PAUSE_S = 0.1
_CHUNK_BYTES = 64 * 1024
_FEW = 500
"""Records that a coordinator with a planted bug reads in a step."""
log = logging.getLogger("coordinator")


def read_through(partition: Partition, buffer_bytes: int) -> Iterator[Batch]:
    """Every batch up to the log's end as it is when it is reached; the log may grow and be compacted meanwhile.

    Of a batch that is larger than the buffer all is read, as by Kafka's CoordinatorLoaderImpl.
    """
    at, chunk_bytes, whole = partition.log.start_offset, min(buffer_bytes, _CHUNK_BYTES), not bugs.on("Z29")
    end = partition.log.end_offset
    while data := partition.log.read(at, chunk_bytes, end, at_least_one=whole):
        began_at = at
        for batch in batches(data):
            if batch.header.base_offset > at and bugs.on("Z32"):
                return
            yield batch
            at = batch.header.last_offset + 1
            if bugs.on("Z54"):
                at = batch.header.base_offset + batch.header.record_count
        if at <= began_at:
            raise ValueError(f"what is read at offset {began_at} ends at {at}")
        end = end if _ends_as_it_began() else partition.log.end_offset


class Loads:
    """What one coordinator is reading back. The first step is taken at once, so that what is small is there at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[int, tuple[Partition, Iterator[None]]] = {}
        self._failed: set[int] = set()
        self._next: Timer | None = None

    def __bool__(self) -> bool:
        """Whether there is anything that cannot be answered for: not read yet, or not readable."""
        return bool(self._open or self._failed)

    def refusal(self, index: int) -> int:
        """What to answer about keys of this partition: 14 while it is read, 16 if it cannot be, else 0."""
        if index in self._failed:
            return errors.NOT_COORDINATOR
        unread = index in self._open and not _answers_early()
        return errors.COORDINATOR_LOAD_IN_PROGRESS if unread else errors.NONE

    def begin(self, partition: Partition, work: Iterator[None]) -> None:
        """Goes through `work`, which may be left for a while wherever it yields."""
        self._failed.discard(partition.index)
        self._open[partition.index] = (partition, work)
        if self._next is None:
            self._step()

    def fail(self, index: int) -> None:
        """What lives there has no coordinator."""
        self._failed.add(index)

    def give_up(self, index: int) -> None:
        """Another node coordinates what lives there: what was read of it is forgotten."""
        self._open.pop(index, None)
        self._failed.discard(index)
        if self._next is not None and reads_no_more():
            self._next.cancel()

    def stop(self) -> None:
        """Forgets all that is open."""
        self._open.clear()
        if self._next is not None:
            self._next.cancel()

    def _step(self) -> None:
        once_alone = bugs.on("Y43")
        if not once_alone:
            self._next = None
        deadline = self._clock.monotonic() + (0 if once_alone or _answers_early() or says_so_to_all() else STEP_S)
        while self._open:
            index, (partition, work) = next(iter(self._open.items()))
            try:
                if not partition.deleted and self._goes_on(work, deadline):
                    break
            except (OSError, ValueError, Malformed, Rejected):
                log.exception("%s-%d cannot be read back: what lives there has no coordinator", partition.topic, index)
                self._failed.add(index)
            self._open.pop(index, None)
        if self._open:
            self._next = self._clock.call_later(_pause_s(), self._step)

    def _goes_on(self, work: Iterator[None], deadline: float) -> bool:
        few = _reads_few()
        return any(self._clock.monotonic() >= deadline or (few and done > _FEW) for done, _ in enumerate(work))


def _pause_s() -> float:
    """None in a healthy broker; one with a bug of loading reads slowly, so that it shows."""
    return (STEP_S if _answers_early() or _reads_few() else 0) or (_LONG_PAUSE_S if says_so_to_all() else 0)


def _reads_few() -> bool:
    return _ends_as_it_began() or lists_what_is_read() or leaves_off_looking() or reads_no_more()


def _answers_early() -> bool:
    """Not in a healthy broker."""
    return bugs.on("Y45")


def _ends_as_it_began() -> bool:
    """Not in a healthy broker: whether a log is read to the end that it had at first."""
    return bugs.on("B302")


def lists_what_is_read() -> bool:
    """Not in a healthy broker: whether groups are listed while there are others still to be read."""
    return bugs.on("B312")


def says_so_to_all() -> bool:
    """Not in a healthy broker: whether also those are refused so who know no such code."""
    return bugs.on("D62")


def leaves_off_looking() -> bool:
    """Not in a healthy broker: whether a look for expired offsets while a log is read is the last."""
    return bugs.on("B329")


def reads_no_more() -> bool:
    """Not in a healthy broker: whether reading ends when another log is given away."""
    return bugs.on("B365")

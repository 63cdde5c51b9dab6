"""What a partition remembers of each producer: epoch, the five newest batches, the open transaction (KIP-98, KIP-360).

Pure: a batch header in, a verdict out; `admit` changes nothing, `record` follows a batch that really is in the log.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.log.batch import Header
from brokertrial.wire import errors

REMEMBERED_BATCHES = 5
_MAX_SEQUENCE = 0x7FFFFFFF
_HIGHEST_EPOCH = 0x7FFF


class RememberedBatch(NamedTuple):
    """One of the newest batches of a producer, enough to recognise it and to answer it again."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


@dataclass(slots=True)
class ProducerEntry:
    """All that one partition knows of one producer id."""

    producer_id: int
    epoch: int = -1
    coordinator_epoch: int = -1
    last_timestamp: int = -1
    open_transaction: int | None = None
    batches: list[RememberedBatch] = field(default_factory=list)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


class DuplicateBatch(NamedTuple):
    """The batch is in the log already: the answer is the one given the first time."""

    batch: RememberedBatch


class RejectedBatch(NamedTuple):
    """The batch must not be appended."""

    error: int
    message: str


_FEW = 1_000
"""Producers that a partition with a planted bug knows."""
MOST_AWAITED = 10_000
"""Of so many producers of a partition it is remembered that they asked; anybody may ask under any id."""


class Awaited(NamedTuple):
    """What has asked to begin a transaction here, and did not begin one yet."""

    epoch: int
    lowest: int  # the lowest sequence of this epoch
    from_zero: bool  # the first that asked raises its epoch with every transaction
    asked_ms: int = 0


class Completed(NamedTuple):
    """A transaction that a marker has just ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class ProducerTable:
    """The producers of one partition."""

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self._open: dict[int, int] = {}  # producer id -> where its open transaction begins
        self._awaited: dict[int, Awaited] = {}

    def await_first(self, batch: Header, *, from_zero: bool, now_ms: int = 0) -> None:
        """Remembers the lowest sequence that asked to begin a transaction here: no higher one may be first (KIP-890).

        A producer that bumps its epoch with every transaction must begin at zero where no batch of it is known; as
        what it is taken is decided by the first that asks. A batch of an epoch that is over is refused unasked.
        """
        entry = self.entries.get(batch.producer_id)
        if entry is not None and batch.producer_epoch < entry.epoch:
            return
        asked = Awaited(batch.producer_epoch, batch.base_sequence, from_zero, now_ms)
        known = self._awaited.get(batch.producer_id)
        if known is None:
            self._awaited[batch.producer_id] = asked
            if len(self._awaited) > MOST_AWAITED:
                del self._awaited[next(iter(self._awaited))]
        elif asked.epoch > known.epoch or (asked.epoch == known.epoch and asked.lowest < known.lowest):
            self._awaited[batch.producer_id] = asked._replace(from_zero=known.from_zero)

    def admit(self, batch: Header) -> DuplicateBatch | RejectedBatch | None:
        """Judges a client's batch by producer id, epoch and sequence; None means that it may be appended."""
        if batch.producer_id < 0:
            return None
        entry = self.entries.get(batch.producer_id) or ProducerEntry(batch.producer_id)
        if (earlier := self._same_batch(entry, batch)) is not None:
            return None if bugs.on("M09") else DuplicateBatch(earlier)
        if (refused := self._out_of_line(entry, batch)) is not None:
            return refused
        if entry.open_transaction is not None and not batch.is_transactional and not bugs.on("P70"):
            return RejectedBatch(
                errors.INVALID_TXN_STATE, "a plain batch while the producer's transaction is open here"
            )
        return None

    def _same_batch(self, entry: ProducerEntry, batch: Header) -> RememberedBatch | None:
        if batch.producer_epoch != entry.epoch:
            return None
        known = entry.batches[-1:] if bugs.on("M10") else entry.batches
        for earlier in known:
            whole = earlier.last_sequence == batch.last_sequence
            if earlier.first_sequence == batch.base_sequence and (whole or bugs.on("Q04")):
                return earlier
        return None

    def _out_of_line(self, entry: ProducerEntry, batch: Header) -> RejectedBatch | None:
        first = batch.base_sequence
        if batch.producer_epoch < entry.epoch and not bugs.on("M13a"):
            return RejectedBatch(
                errors.INVALID_PRODUCER_EPOCH, f"epoch {batch.producer_epoch} after epoch {entry.epoch}"
            )
        awaited = self._awaited.get(batch.producer_id)
        lowest = first if awaited is None or bugs.on("Y32") else awaited.lowest
        if awaited is not None and awaited.from_zero and not entry.batches and not bugs.on("Y33"):
            lowest = 0
        if first > lowest:
            return RejectedBatch(errors.OUT_OF_ORDER_SEQUENCE_NUMBER, f"sequence {first} before {lowest}")
        if entry.epoch == -1:
            # nothing is known, perhaps because retention took it: any first sequence will do
            if first and bugs.on("P46"):
                return RejectedBatch(
                    errors.OUT_OF_ORDER_SEQUENCE_NUMBER, f"an unknown producer begins at sequence {first}"
                )
            return None
        if batch.producer_epoch != entry.epoch:
            if first != 0 and not bugs.on("M12b"):
                return RejectedBatch(errors.OUT_OF_ORDER_SEQUENCE_NUMBER, f"a new epoch begins at sequence {first}")
            return None
        if not follows(entry.last_sequence, first) and not bugs.on("M12"):
            return RejectedBatch(errors.OUT_OF_ORDER_SEQUENCE_NUMBER, f"sequence {first} after {entry.last_sequence}")
        return None

    def record(self, batch: Header) -> None:
        """Follows a data batch into the log."""
        if batch.producer_id < 0:
            return
        if len(self.entries) >= _FEW and batch.producer_id not in self.entries and bugs.on("B281"):
            del self.entries[next(iter(self.entries))]
        entry = self.entries.setdefault(batch.producer_id, ProducerEntry(batch.producer_id))
        if batch.producer_epoch != entry.epoch:
            entry.batches.clear()
            entry.epoch = batch.producer_epoch
        entry.batches.append(
            RememberedBatch(
                batch.base_sequence, batch.last_sequence, batch.base_offset, batch.last_offset, batch.max_timestamp
            )
        )
        del entry.batches[:-REMEMBERED_BATCHES]
        entry.last_timestamp = batch.max_timestamp
        if batch.is_transactional and entry.open_transaction is None:
            entry.open_transaction = self._open[batch.producer_id] = batch.base_offset

    def began(self, batch: Header) -> None:
        """What has asked to begin a transaction here has begun it, here or under another leader."""
        if batch.is_transactional and not batch.is_control:
            self._awaited.pop(batch.producer_id, None)

    def admit_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, transaction_version: int = 0
    ) -> RejectedBatch | None:
        """Judges a transaction marker: an old producer or an old coordinator must not end anything.

        From transaction.version 2 on each end raises the epoch: a marker of the open transaction's own epoch is of the
        one before it (KIP-1228), unless no higher one is left. With nothing open it may be sent again (KAFKA-19999).
        """
        entry = self.entries.get(producer_id)
        if entry is None:
            return None
        raises = transaction_version >= 2 and entry.open_transaction is not None and producer_epoch < _HIGHEST_EPOCH
        if producer_epoch < entry.epoch + (raises and not bugs.on("D69")):
            return RejectedBatch(errors.INVALID_PRODUCER_EPOCH, f"marker of epoch {producer_epoch} after {entry.epoch}")
        if coordinator_epoch < entry.coordinator_epoch:
            return RejectedBatch(
                errors.TRANSACTION_COORDINATOR_FENCED, f"coordinator epoch {coordinator_epoch} is over"
            )
        if coordinator_epoch > entry.coordinator_epoch and entry.open_transaction is None and bugs.on("J09"):
            return RejectedBatch(errors.INVALID_TXN_STATE, "nothing is open that another coordinator could end")
        return None

    def record_marker(self, marker: Header, coordinator_epoch: int, *, commit: bool) -> Completed | None:
        """Follows a marker into the log; the transaction that it ended, if it had data here."""
        entry = self.entries.setdefault(marker.producer_id, ProducerEntry(marker.producer_id))
        if marker.producer_epoch != entry.epoch:
            entry.batches.clear()
            entry.epoch = marker.producer_epoch
        self._marker_ends_waiting(marker)
        if bugs.on("T06"):
            entry.batches.clear()
        began, entry.open_transaction = entry.open_transaction, None
        self._open.pop(marker.producer_id, None)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = marker.max_timestamp
        if began is None:
            return None
        return Completed(marker.producer_id, began, marker.base_offset, aborted=not commit)

    def _marker_ends_waiting(self, marker: Header) -> None:
        """A marker ends what asked to begin; not what already asks in the marker's epoch, raised by a version 2 end.

        Kafka takes a request that bumps epochs for the next transaction, so what it asked outlives the marker of a
        producer that ends without a bump.
        """
        awaited = self._awaited.get(marker.producer_id)
        if awaited is not None and not (awaited.from_zero and awaited.epoch == marker.producer_epoch):
            del self._awaited[marker.producer_id]

    def first_unstable(self) -> int | None:
        """Where the oldest open transaction begins."""
        return min(self._open.values(), default=None)

    def expire(self, older_than_ms: int) -> None:
        """Forgets idle producers that have no transaction open, and who asked for one long ago and never came."""
        idle = [
            e.producer_id
            for e in self.entries.values()
            if (e.open_transaction is None or bugs.on("T01")) and e.last_timestamp < older_than_ms
        ]
        for producer_id in idle:
            del self.entries[producer_id]
            self._open.pop(producer_id, None)
        self._awaited = {id_: asked for id_, asked in self._awaited.items() if asked.asked_ms >= older_than_ms}

    # Snapshots: so that recovery need not read the log from its beginning.

    _ENTRY = struct.Struct(">qhiqqH")
    _BATCH = struct.Struct(">iiqqq")

    def snapshot(self) -> bytes:
        """All entries as bytes; `restore` reads them back."""
        out = bytearray()
        for e in self.entries.values():
            began = -1 if e.open_transaction is None else e.open_transaction
            out += self._ENTRY.pack(
                e.producer_id, e.epoch, e.coordinator_epoch, e.last_timestamp, began, len(e.batches)
            )
            for batch in e.batches:
                out += self._BATCH.pack(*batch)
        return bytes(out)

    @classmethod
    def restore(cls, data: bytes) -> ProducerTable:
        """The table that `snapshot` wrote."""
        table = cls()
        for entry in cls._entries(data):
            table.entries[entry.producer_id] = entry
            if bugs.on("L12"):
                entry.coordinator_epoch = -1
            if bugs.on("L13"):
                entry.last_timestamp = -1
            if entry.open_transaction is not None and not (table._open and bugs.on("U05")):
                table._open[entry.producer_id] = entry.open_transaction
        return table

    @classmethod
    def _entries(cls, data: bytes) -> Iterator[ProducerEntry]:
        at = 0
        while at < len(data):
            producer_id, epoch, coordinator_epoch, timestamp, began, count = cls._ENTRY.unpack_from(data, at)
            at += cls._ENTRY.size
            batches = [RememberedBatch(*cls._BATCH.unpack_from(data, at + i * cls._BATCH.size)) for i in range(count)]
            at += count * cls._BATCH.size
            if bugs.on("B116"):
                batches = [b._replace(first_sequence=b.last_sequence - b.last_offset + b.base_offset) for b in batches]
            known = -1 if bugs.on("T05") else coordinator_epoch
            yield ProducerEntry(producer_id, epoch, known, timestamp, None if began == -1 else began, batches)


def follows(last: int, following: int) -> bool:
    """True when a sequence is the next one; after the largest int32 comes zero."""
    return following == last + 1 or (following == 0 and last == _MAX_SEQUENCE and not bugs.on("P45"))

"""Opens record data inside an answer for editing by path, and packs it again: batches with fields, records with
fields."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from brokertrial.faults.message_paths import PathStep, parse
from brokertrial.wire.records import Batch, Record, batches, build_batch


@dataclass
class EditableRecord:
    """One record; `offset` is absolute."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[Any]


@dataclass
class EditableBatch:
    """One batch: header fields to edit, and its records. Without an edit its bytes stay what they were."""

    original: Batch
    base_offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    max_timestamp: int
    last_offset_delta: int
    crc: int
    is_transactional: bool
    is_control: bool
    records: list[EditableRecord] = field(default_factory=list)

    def packed(self) -> bytes:
        """The batch as bytes, with a right CRC unless that is what was edited."""
        if self == _open(self.original):
            return bytes(self.original.bytes)
        header = self.original.header
        stated = {
            name: getattr(self, name)
            for name in ("crc", "max_timestamp")
            if getattr(self, name) != getattr(header, name)
        }
        deltas = [record.offset - self.base_offset for record in self.records]
        if self.last_offset_delta != header.last_offset_delta or not self.records:
            stated["last_offset_delta"] = self.last_offset_delta
        return build_batch(
            [Record(r.key, r.value, tuple(r.headers), r.timestamp, r.offset) for r in self.records],
            base_offset=self.base_offset,
            leader_epoch=self.leader_epoch,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            transactional=self.is_transactional,
            control=self.is_control,
            compression=header.compression,
            timestamp_type=header.timestamp_type,
            offset_deltas=deltas,
            **stated,
        )


@contextmanager
def editable(answer: Any, path: str) -> Iterator[None]:
    """While it lasts, `records` on the way of this path are lists of EditableBatch; afterwards bytes again."""
    steps = parse(path)
    place = next((n for n, step in enumerate(steps) if step.name == "records"), None)
    if place is None or (steps[place].pick is None and place == len(steps) - 1):
        yield
        return
    holders = list(_holders(answer, steps[:place]))
    for holder in holders:
        holder.records = [_open(batch) for batch in batches(holder.records)] if holder.records else []
    yield
    for holder in holders:
        holder.records = b"".join(batch.packed() for batch in holder.records)


def _open(batch: Batch) -> EditableBatch:
    header = batch.header
    records = [EditableRecord(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in batch.records()]
    return EditableBatch(
        original=batch,
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        max_timestamp=header.max_timestamp,
        last_offset_delta=header.last_offset_delta,
        crc=header.crc,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        records=records,
    )


def _holders(message: Any, steps: tuple[PathStep, ...]) -> Iterator[Any]:
    """Every struct at the path before `records`."""
    if not steps:
        if hasattr(message, "records"):
            yield message
        return
    value = getattr(message, steps[0].name, None)
    if isinstance(value, list | tuple):
        for place in steps[0].elements(list(value)):
            yield from _holders(value[place], steps[1:])
    elif value is not None:
        yield from _holders(value, steps[1:])

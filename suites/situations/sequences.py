"""Sequences of idempotent producers, moved so that they pass their end: the case counts from 0, the broker does not.

    the case        0, 1, 2, 3 ...
    the broker      2147483646, 2147483647, 0, 1 ...

Only of the first epoch of a producer in a partition, for a new epoch begins at 0; not in transactions, which may have
to begin there too (KIP-890); and not of batches whose checksum is wrong, which are there to be refused.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from brokertrial.wire.crc32c import crc32c
from brokertrial.wire.messages import Struct

FIRST = 2**31 - 2
MODULUS = 2**31
TRANSACTIONAL = 0x10
_FRAME = struct.Struct(">qi")  # first offset, length of what follows
_CHECKSUM = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_PRODUCER = struct.Struct(">qhi")  # id, epoch, first sequence
CHECKSUM_AT, CHECKED_FROM, PRODUCER_AT, HEADER = 17, 21, 43, 61

Writer = tuple[str, int, int]
"""Topic, partition, producer id."""


class Sequences:
    """Which producers were moved where; each has one epoch in which it was. `name_of` a row is its topic's name."""

    def __init__(self, name_of: Callable[[Any], str]) -> None:
        self._name_of = name_of
        self._epochs: dict[Writer, int] = {}

    def send(self, asked: Struct) -> int:
        """Moves the sequences of a Produce request; how many batches were changed."""
        changed = 0
        for topic in asked.topic_data:
            for row in topic.partition_data:
                found, name = bytearray(row.records or b""), self._name_of(topic)
                changed += sum(self._move(found, at, size, name, row.index) for at, size in _batches(found))
                row.records = bytes(found)
        return changed

    def _move(self, found: bytearray, at: int, size: int, topic: str, partition: int) -> bool:
        producer, epoch, sequence = _PRODUCER.unpack_from(found, at + PRODUCER_AT)
        transactional = _ATTRIBUTES.unpack_from(found, at + CHECKED_FROM)[0] & TRANSACTIONAL
        if producer < 0 or sequence < 0 or transactional or not _is_whole(found, at, size):
            return False
        if self._epochs.setdefault((topic, partition, producer), epoch) != epoch:
            return False
        _put(found, at, size, producer, epoch, (sequence + FIRST) % MODULUS)
        return True

    def told(self, answer: Struct) -> None:
        """Moves them back, where an answer has any."""
        if answer._api == "Fetch":
            for topic in answer.responses:
                for row in topic.partitions:
                    row.records = self._back(row.records, self._name_of(topic), row.partition_index)
        elif answer._api == "DescribeProducers":
            for topic in answer.topics:
                for row in topic.partitions:
                    for one in row.active_producers:
                        writer = (self._name_of(topic), row.partition_index, one.producer_id)
                        if self._epochs.get(writer) == one.producer_epoch and one.last_sequence >= 0:
                            one.last_sequence = (one.last_sequence - FIRST) % MODULUS

    def _back(self, records: Any, topic: str, partition: int) -> Any:
        found = bytearray(records or b"")
        for at, size in _batches(found):
            producer, epoch, sequence = _PRODUCER.unpack_from(found, at + PRODUCER_AT)
            known = self._epochs.get((topic, partition, producer), -1) == epoch
            if known and sequence >= 0 and _is_whole(found, at, size):
                _put(found, at, size, producer, epoch, (sequence - FIRST) % MODULUS)
        return bytes(found) if records else records


def _batches(found: bytearray) -> Iterator[tuple[int, int]]:
    """Where each whole batch begins, and its size."""
    at = 0
    while at + HEADER <= len(found):
        size = _FRAME.size + _FRAME.unpack_from(found, at)[1]
        if size < HEADER or at + size > len(found):
            return
        yield at, size
        at += size


def _is_whole(found: bytearray, at: int, size: int) -> bool:
    return bool(_CHECKSUM.unpack_from(found, at + CHECKSUM_AT)[0] == crc32c(found[at + CHECKED_FROM : at + size]))


def _put(found: bytearray, at: int, size: int, producer: int, epoch: int, sequence: int) -> None:
    _PRODUCER.pack_into(found, at + PRODUCER_AT, producer, epoch, sequence)
    _CHECKSUM.pack_into(found, at + CHECKSUM_AT, crc32c(found[at + CHECKED_FROM : at + size]))

"""Offsets of a log that has a history, as a case counts them: from where the history ended.

    history 0..499    the case reads from 3      -> Fetch of 503
                      it is told 503, end 507    <- 3, end 7; begins at 0, wherever the log itself begins before 500

What lies below the history's end comes out negative: no case expects that. Record batches carry their first offset in
front of what their checksum covers. Offsets that groups commit are words of theirs, and stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from brokertrial.wire.messages import ZERO_UUID, Struct

ROWS: Mapping[str, tuple[str, str, str]] = {
    "Produce": ("topic_data", "responses", "partition_responses"),
    "Fetch": ("topics", "responses", "partitions"),
    "ListOffsets": ("topics", "topics", "partitions"),
    "OffsetForLeaderEpoch": ("topics", "topics", "partitions"),
    "DeleteRecords": ("topics", "topics", "partitions"),
    "DescribeProducers": ("topics", "topics", "partitions"),
}
"""The APIs that speak of offsets in a log: where a request names topics, where an answer does, and their partitions."""
OFFSET_BYTES, SIZE_AT, OVERHEAD = 8, 8, 12


class Bases:
    """Where the histories of topics end. A topic that is made again under its name has none."""

    def __init__(self) -> None:
        self._by_name: dict[str, tuple[Any, Mapping[int, int]]] = {}
        self.left_out: set[int] = set()
        """Producers of the histories."""

    def add(self, topic: str, topic_id: Any, ends: Mapping[int, int]) -> None:
        """`ends`: partition -> offset."""
        self._by_name[topic] = (topic_id, ends)

    def concern(self, asked: Struct) -> bool:
        """Whether a request is to be translated; whether topics are deleted is noted on the way."""
        if asked._api == "DeleteTopics":
            self._forget(asked)
        rows = ROWS.get(asked._api)
        return rows is not None and any(self.of(row) for row in getattr(asked, rows[0]))

    def of(self, row: Any) -> Mapping[int, int]:
        """Partition -> base of the topic that a row names; empty where it has no history."""
        name = getattr(row, "name", "") or getattr(row, "topic", "")
        if name:
            return self._by_name.get(name, (None, {}))[1]
        wanted = getattr(row, "topic_id", ZERO_UUID)
        return next((ends for topic_id, ends in self._by_name.values() if topic_id == wanted), {})

    def _forget(self, asked: Struct) -> None:
        for name in getattr(asked, "topic_names", None) or ():
            self._by_name.pop(name, None)
        for row in getattr(asked, "topics", None) or ():
            for name, (topic_id, _) in list(self._by_name.items()):
                if row.name == name or row.topic_id == topic_id:
                    del self._by_name[name]


def shift_request(asked: Struct, bases: Bases) -> None:
    """Makes the case's offsets those of the log."""
    field = {"Fetch": "fetch_offset", "DeleteRecords": "offset"}.get(asked._api, "")
    for topic in asked.topics if field else ():
        ends = bases.of(topic)
        for row in topic.partitions:
            base = ends.get(getattr(row, "partition", getattr(row, "partition_index", 0)), 0)
            if getattr(row, field) >= 0:
                setattr(row, field, getattr(row, field) + base)


def shift_answer(answer: Struct, bases: Bases) -> None:
    """Makes the log's offsets the case's."""
    _, topics, partitions = ROWS[answer._api]
    for topic in getattr(answer, topics):
        ends = bases.of(topic)
        for row in getattr(topic, partitions):
            index = getattr(row, "partition_index", getattr(row, "partition", getattr(row, "index", 0)))
            _SHIFTS[answer._api](row, ends.get(index, 0), bases)


def _shift(row: Any, base: int, *fields: str) -> None:
    for name in fields:
        if (value := getattr(row, name)) >= 0:
            setattr(row, name, value - base)


def _begin(row: Any, base: int, *fields: str) -> None:
    """Of fields that name a place at or below everything that is there."""
    for name in fields:
        if (value := getattr(row, name)) >= 0:
            setattr(row, name, max(value - base, 0))


def _produced(row: Any, base: int, bases: Bases) -> None:
    _shift(row, base, "base_offset")
    _begin(row, base, "log_start_offset")


def _fetched(row: Any, base: int, bases: Bases) -> None:
    _shift(row, base, "high_watermark", "last_stable_offset")
    _begin(row, base, "log_start_offset")
    _begin(row.diverging_epoch, base, "end_offset")
    for aborted in row.aborted_transactions or ():
        _shift(aborted, base, "first_offset")
    if row.records:
        row.records = shifted_records(row.records, base)


def _listed(row: Any, base: int, bases: Bases) -> None:
    if row.offset < base and row.timestamp < 0:
        _begin(row, base, "offset")
    else:
        _shift(row, base, "offset")


def _described(row: Any, base: int, bases: Bases) -> None:
    row.active_producers = [one for one in row.active_producers if one.producer_id not in bases.left_out]
    for one in row.active_producers:
        _shift(one, base, "current_txn_start_offset")


_SHIFTS: Mapping[str, Callable[[Any, int, Bases], None]] = {
    "Produce": _produced,
    "Fetch": _fetched,
    "ListOffsets": _listed,
    "OffsetForLeaderEpoch": lambda row, base, bases: _begin(row, base, "end_offset"),
    "DeleteRecords": lambda row, base, bases: _begin(row, base, "low_watermark"),
    "DescribeProducers": _described,
}


def shifted_records(records: Any, base: int) -> bytes:
    """Batches, the last of which may be cut, with the case's offsets."""
    found = bytearray(records)
    for at in _batches(found):
        offset = int.from_bytes(found[at : at + OFFSET_BYTES], "big", signed=True) - base
        found[at : at + OFFSET_BYTES] = offset.to_bytes(OFFSET_BYTES, "big", signed=True)
    return bytes(found)


def _batches(records: bytes | bytearray) -> Iterator[int]:
    at = 0
    while at + OVERHEAD <= len(records):
        yield at
        size = int.from_bytes(records[at + SIZE_AT : at + OVERHEAD], "big", signed=True)
        if size < 0:
            return
        at += OVERHEAD + size

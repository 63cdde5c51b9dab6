"""ListOffsets: the ends of a partition, and the first record at or after a time.

Versions 1-11. -1 latest (read_committed: the last stable offset), -2 earliest, -3 the record with the largest
timestamp (v7+), -4 earliest on local disk (v8+), -5 latest in tiered storage (v9+) and -6 earliest not yet there
(v11+): none here, so -1. Other negative times, and these in older versions: UNSUPPORTED_VERSION. The same partition
twice: INVALID_REQUEST. A look-up by time is exact to the record, never below the log's start nor at or above what the
isolation level shows. Leader epoch checks (v4+): 74 and 75. A new leader that does not know the end of the replicated
data yet says so: 78 (v5+; 5 before it).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.wire import errors, records
from brokertrial.wire.messages import Struct, child, response

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
_SINCE = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING: 11}
_UNPACK_LIMIT = 256 << 20
_Part = child("ListOffsets", "response", "topics.partitions")


class FoundOffset(NamedTuple):
    """An offset, with the time and the leader epoch of what is there."""

    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = -1


@handles("ListOffsets", 1, 11)
def list_offsets(request: Struct, context: Context) -> Struct:
    """Looks each partition up on its own."""
    asked = Counter((topic.name, part.partition_index) for topic in request.topics for part in topic.partitions)
    topics = [
        {
            "name": topic.name,
            "partitions": [
                _answer(topic.name, part, request, context, twice=asked[topic.name, part.partition_index] > 1)
                for part in list({part.partition_index: part for part in topic.partitions}.values())[
                    : 1_000 if bugs.on("B287") else None
                ]
            ],
        }
        for topic in request.topics
    ]
    return response("ListOffsets", topics=topics)


def _answer(name: str, part: Struct, request: Struct, context: Context, *, twice: bool) -> Struct:
    index, time = part.partition_index, part.timestamp
    partition = context.node.led(name, index, part.current_leader_epoch)
    if partition == errors.NOT_LEADER_OR_FOLLOWER and bugs.on("M34e"):
        partition = context.node.partition(name, index) or partition
    if twice:
        error = errors.INVALID_REQUEST
    elif time < 0 and context.version < _SINCE.get(time, 1 << 15) and not bugs.on("K14"):
        error = errors.UNSUPPORTED_VERSION
    elif isinstance(partition, int):
        error = partition
    else:
        error = partition.check_epoch(part.current_leader_epoch)
    if error or isinstance(partition, int):
        return _Part(partition_index=index, error_code=error)
    committed = request.isolation_level == 1 and not (3 < context.version < 9 and bugs.on("Z36"))
    found = look_up(partition, time, committed=committed, consumer=request.replica_id < 0)
    is_above = found.offset < 0 and time not in (EARLIEST, EARLIEST_LOCAL) and not bugs.on("B100")
    asks_for_end = time == LATEST or is_above
    if asks_for_end and not partition.end_is_known and not (committed and bugs.on("B35")):
        later = errors.OFFSET_NOT_AVAILABLE if context.version >= 5 else errors.LEADER_NOT_AVAILABLE
        return _Part(partition_index=index, error_code=later)
    return _Part(
        partition_index=index,
        error_code=errors.NONE,
        offset=found.offset,
        timestamp=found.timestamp,
        leader_epoch=found.leader_epoch if context.version >= 4 else -1,
    )


def look_up(partition: Partition, time: int, *, committed: bool, consumer: bool = True) -> FoundOffset:
    """What a partition answers for a time, special or real."""
    log = partition.log
    end = partition.readable_end(committed=committed and not bugs.on("M29b")) if consumer else log.end_offset
    if time == LATEST:
        return FoundOffset(end, leader_epoch=partition.leader_epoch)
    if time in (EARLIEST, EARLIEST_LOCAL):
        start = partition.high_watermark if bugs.on("M29a") else log.start_offset
        epoch = partition.leader_epoch if bugs.on("M29c") else log.epochs.earliest(log.start_offset)
        return FoundOffset(start, leader_epoch=-1 if epoch is None else epoch)
    if time in (LATEST_TIERED, EARLIEST_PENDING):
        return FoundOffset()
    found = _largest(partition) if time == MAX_TIMESTAMP else _first_at(partition, time)
    if found.offset == -1 and bugs.on("M30c"):
        return FoundOffset(end, leader_epoch=partition.leader_epoch)
    if end == log.start_offset and bugs.on("P47"):
        return FoundOffset(end, leader_epoch=partition.leader_epoch)
    return found if found.offset < end else FoundOffset()


def _first_at(partition: Partition, time: int) -> FoundOffset:
    for header, data in partition.log.reaching(time):
        if bugs.on("M30b"):
            return FoundOffset(header.base_offset, header.base_timestamp, header.leader_epoch)
        before = FoundOffset()
        for place, record in enumerate(_records(data), start=header.base_offset):
            here = FoundOffset(record.offset, record.timestamp, header.leader_epoch)
            if bugs.on("U01"):
                here = here._replace(offset=place)
            if bugs.on("R31"):
                here = here._replace(offset=record.offset - partition.log.segment_of(record.offset).base_offset)
            if record.timestamp >= time and record.offset >= min(partition.log.start_offset, header.last_offset):
                return before if before.offset >= 0 and bugs.on("M30a") else here
            before = here
    return FoundOffset()


def _largest(partition: Partition) -> FoundOffset:
    located = partition.log.with_largest_timestamp()
    if located is None:
        return FoundOffset()
    header, data = located
    for record in _records(data):
        if record.timestamp == header.max_timestamp or bugs.on("P48"):
            return FoundOffset(record.offset, record.timestamp, header.leader_epoch)
    return FoundOffset()


def _records(data: bytes) -> list[records.Record]:
    batch = next(iter(records.batches(data)))
    return list(batch.records(_UNPACK_LIMIT))

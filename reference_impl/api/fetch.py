"""Fetch: record batches from an offset on, as stored.

Versions 4-18; v13+ names topics by id. Waits up to max_wait_ms until min_bytes can be read from all partitions
together; an error in one ends the wait. Size limits are KIP-74's: the first partition with data gives at least one
whole batch, a batch is never cut; answers get shorter while other clients leave theirs unread. Consumers see what lies
below the high watermark, read_committed ones below the
last stable offset, with the aborted transactions in the order in which they ended. Out of range: 1. Leader epochs:
74, 75 (v9+); an offset that a truncation took: diverging epoch (v12+). Sessions: KIP-227 (70, 71, 106). A follower
serves consumers from v11 on (KIP-392) and refuses older ones: 6, with the leader's address (KIP-951, v16+). Where
brokers have racks and a selector, who names a rack is sent to a follower there (`racks.py`). What followers ask for is
answered in `follower_fetch.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from functools import partial

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, follower_fetch, handles, hints, racks
from brokertrial.reference_impl.api.fetch_sessions import (
    FINAL_EPOCH,
    NO_SESSION,
    Incremental,
    Opening,
    SessionError,
    SessionPartition,
)
from brokertrial.reference_impl.log import spoil
from brokertrial.reference_impl.log.epochs import UNKNOWN
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, Struct, child, response
from brokertrial.wire.records import batches

_ZSTD_SINCE = 10
_BY_ID_SINCE, _HINTS_SINCE = 13, 16
_FOLLOWERS_SERVE_SINCE = 11
_Topic = child("Fetch", "response", "responses")
_Part = child("Fetch", "response", "responses.partitions")
_MOVED = (errors.NOT_LEADER_OR_FOLLOWER, errors.FENCED_LEADER_EPOCH)
_Aborted = child("Fetch", "response", "responses.partitions.aborted_transactions")


@dataclass(slots=True)
class PartitionPass:
    """What one pass over the partitions gave."""

    answers: list[tuple[SessionPartition, Struct, Struct]] = field(default_factory=list)  # key, request, answer
    size: int = 0
    counted: int = 0
    """Towards min_bytes: Kafka reads up to its limits, and counts the batch that they cut."""
    failed: bool = False


@handles("Fetch", 4, 18)
def fetch(request: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """Answers at once if there is enough, else when there is or when the time is up."""
    if (follower := follower_fetch.follower_of(request, context.version)) is not None:
        return follower_fetch.answered(follower, request, context)
    by_id = context.version >= _BY_ID_SINCE
    asked = [
        (SessionPartition(t.topic_id if by_id else t.topic, p.partition), p)
        for t in request.topics
        for p in t.partitions
    ]
    forgotten = [
        SessionPartition(t.topic_id if by_id else t.topic, index)
        for t in request.forgotten_topics_data
        for index in t.partitions
    ]
    in_session = request.session_epoch != FINAL_EPOCH
    if in_session and any(key.topic == ZERO_UUID for key in [*(k for k, _ in asked), *forgotten]) and bugs.on("K37"):
        return response("Fetch", error_code=errors.UNKNOWN_SERVER_ERROR, session_id=request.session_id)
    mode = context.node.fetch_sessions.mode(
        request.session_id, request.session_epoch, by_id=by_id, wanted=asked, forgotten=forgotten
    )
    if isinstance(mode, SessionError):
        return response("Fetch", error_code=mode.error)
    if isinstance(mode, Opening) and bugs.on("R13"):
        request.isolation_level = 0
    if isinstance(mode, Incremental):
        asked = [(key, known.request) for key, known in mode.session.partitions.items()]
    answer = partial(_response, mode, context)
    reading = _read(asked, request, context)
    if request.max_wait_ms <= 0 or _is_enough(reading, asked, request, context) or bugs.on("M37d"):
        return answer(reading)
    return _wait(asked, request, context, answer, reading)


def _is_enough(
    reading: PartitionPass, asked: list[tuple[SessionPartition, Struct]], request: Struct, context: Context
) -> bool:
    if bugs.on("D74") and any(_is_emptied(_partition(key, context)) for key, _ in asked):
        return True
    most = min(request.max_bytes, context.node.fetch_max_bytes)
    wanted = request.min_bytes if bugs.on("F05") else min(request.min_bytes, most)
    wanted = max(wanted, 1) if bugs.on("B120") else wanted
    if bugs.on("V68") and reading.size:
        return True
    return reading.failed or not asked or reading.counted >= wanted


def _is_emptied(partition: Partition | None) -> bool:
    """All that it held is deleted."""
    return partition is not None and 0 < partition.log.start_offset == partition.log.end_offset


async def _wait(
    asked: list[tuple[SessionPartition, Struct]],
    request: Struct,
    context: Context,
    answer: partial[Struct],
    reading: PartitionPass,
) -> Struct:
    """The long poll: looks again whenever one of the partitions has news."""
    news = asyncio.Event()
    timed_out = False

    def time_is_up() -> None:
        nonlocal timed_out
        timed_out = True
        news.set()

    partitions = [p for key, _ in asked if (p := _partition(key, context)) is not None]
    if bugs.on("L14"):
        del partitions[1:]
    wait_ms = 0 if request.max_wait_ms == 0x7FFFFFFF and bugs.on("B320") else request.max_wait_ms
    timer = context.node.clock.call_later(wait_ms / 1000, time_is_up)
    for partition in partitions:
        partition.watch(news.set)
    try:
        if not bugs.on("B304"):
            reading = _read(asked, request, context)  # this task began later: it may have missed news
        first = reading
        while not timed_out and (_ignores_its_leader(reading) or not _is_enough(reading, asked, request, context)):
            await news.wait()
            news.clear()
            before = reading.size if bugs.on("V67") else 0
            reading = _read(asked, request, context, woken=not timed_out, used=before)
            if any(one.deleted for one in partitions) and not bugs.on("F01"):
                reading.failed = True  # what it waited for is gone
        if bugs.on("B250"):
            _names_as_at_first(first, reading)
        return answer(first if timed_out and bugs.on("F02") else reading)
    except asyncio.CancelledError:
        if bugs.on("B294"):
            for partition in partitions:
                partition.forget_watchers()
        raise
    finally:
        timer.cancel()
        for partition in partitions:
            partition.unwatch(news.set)


def _names_as_at_first(first: PartitionPass, reading: PartitionPass) -> None:
    """The aborted transactions are those that were known before the wait."""
    for (_, _, before), (_, _, now) in zip(first.answers, reading.answers, strict=True):
        now.aborted_transactions = before.aborted_transactions


def _ignores_its_leader(reading: PartitionPass) -> bool:
    """Only with B105: what waits goes on waiting where another node leads by now."""
    return bugs.on("B105") and any(part.error_code in _MOVED for _, _, part in reading.answers)


def _response(mode: object, context: Context, reading: PartitionPass) -> Struct:
    """Groups the answers by topic; a session's answer leaves out what is unchanged."""
    answers = reading.answers
    session_id = NO_SESSION
    if isinstance(mode, Incremental):
        session_id = mode.session.id
        answers = [entry for entry in answers if mode.session.changed(entry[0], entry[2])]
        if bugs.on("B133"):
            answers = [entry for entry in answers if not _has_a_new_end_alone(*entry, context)]
    elif isinstance(mode, Opening):
        session_id = context.node.fetch_sessions.open(by_id=context.version >= _BY_ID_SINCE, answered=answers)
    topics: list[Struct] = []
    last: object = None
    for key, _, part in answers:
        if key.topic != last:
            by_id = not isinstance(key.topic, str)
            topics.append(_Topic(topic="" if by_id else key.topic, topic_id=key.topic if by_id else ZERO_UUID))
            last = key.topic
        topics[-1].partitions.append(part)
    answer = response("Fetch", session_id=session_id, responses=topics)
    if context.version >= _HINTS_SINCE and any(part.error_code in _MOVED for _, _, part in answers):
        unsaid = isinstance(mode, Incremental) and bugs.on("B134")
        where = [] if unsaid else hints.endpoints(context.node, (part for _, _, part in answers))
        answer = response("Fetch", session_id=session_id, responses=topics, node_endpoints=where)
    return answer


def _has_a_new_end_alone(key: SessionPartition, _: Struct, part: Struct, context: Context) -> bool:
    """At a follower, of which nothing else is to be said."""
    partition = _partition(key, context)
    return partition is not None and partition.leading is None and not (part.records or part.error_code)


# Reading


def _read(
    asked: list[tuple[SessionPartition, Struct]],
    request: Struct,
    context: Context,
    *,
    woken: bool = False,
    used: int = 0,
) -> PartitionPass:
    reading = PartitionPass()
    room = max(0, min(request.max_bytes, context.node.fetch_max_bytes, context.node.response_room) - used)
    for key, wanted in asked:
        partition = _partition(key, context)
        error = _absent(key, context, woken) if partition is None else _error(partition, wanted, request, context)
        if error or partition is None:
            part = _failed(key, error, partition, context)
            told_at_once = partition is not None or error == errors.NOT_LEADER_OR_FOLLOWER
            reading.failed = reading.failed or (told_at_once and not bugs.on("L15"))
        elif (diverging := _diverging(partition, wanted)) is not None:
            part = _part(partition, wanted.partition, b"")
            part.diverging_epoch.epoch, part.diverging_epoch.end_offset = diverging
            reading.failed = True
        elif (better := _better(partition, wanted, request, context)) != racks.LEADER:
            part = _part(partition, wanted.partition, b"")
            part.preferred_read_replica = better
            reading.failed = reading.failed or not bugs.on("K43")
        else:
            at_least_one = reading.size == 0 and not (wanted.partition_max_bytes == 0 and bugs.on("B343"))
            at_least_one = at_least_one or bugs.on("B207")
            part = _data(partition, wanted, request, room, at_least_one=at_least_one, woken=woken)
            if reading.counted + len(part.records) < request.min_bytes:
                reading.counted += _cut(partition, wanted, request, room, part.records)
            if context.version >= _FOLLOWERS_SERVE_SINCE and request.rack_id and bugs.on("R11"):
                part.preferred_read_replica, part.records = context.node.node_id, b""
            if part.records and context.version < _BY_ID_SINCE and bugs.on("N53"):
                part.records = spoil.without_the_first(part.records)
            if context.version < _ZSTD_SINCE and spoil.is_zstd(part.records) and bugs.on("N58"):
                part = _failed(key, errors.CORRUPT_MESSAGE, partition, context)
        size = len(part.records or b"")
        reading.size += size
        reading.counted += size
        room = max(room - size, 0)
        reading.answers.append((key, wanted, part))
    if asked and all(_partition(key, context) is None for key, _ in asked):
        reading.failed = True  # nothing that could ever have data
    return reading


def _better(partition: Partition, wanted: Struct, request: Struct, context: Context) -> int:
    if context.version < _FOLLOWERS_SERVE_SINCE:
        return racks.LEADER
    return racks.better(context.node, partition, request.rack_id, wanted.fetch_offset)


def _partition(key: SessionPartition, context: Context) -> Partition | None:
    if isinstance(key.topic, str):
        return context.node.partition(key.topic, key.partition)
    topic = context.node.topics.by_id(key.topic)
    return None if topic is None else context.node.partition(topic.name, key.partition)


def _absent(key: SessionPartition, context: Context, woken: bool) -> int:
    """A fetch that has waited asks for the partition that it found before: its topic id was known then."""
    topics = context.node.topics
    topic = topics.get(key.topic) if isinstance(key.topic, str) else topics.by_id(key.topic)
    if topic is None:
        by_name = isinstance(key.topic, str) or woken or bugs.on("P65")
        return errors.UNKNOWN_TOPIC_OR_PARTITION if by_name else errors.UNKNOWN_TOPIC_ID
    known = 0 <= key.partition < topic.partitions
    return errors.NOT_LEADER_OR_FOLLOWER if known else errors.UNKNOWN_TOPIC_OR_PARTITION


def _error(partition: Partition, wanted: Struct, request: Struct, context: Context) -> int:
    if error := partition.check_epoch(wanted.current_leader_epoch):
        return error
    if partition.leading is None and context.version < _FOLLOWERS_SERVE_SINCE and not bugs.on("Z44"):
        return errors.NOT_LEADER_OR_FOLLOWER
    isolation = request.isolation_level
    if isolation not in (0, 1) or wanted.partition_max_bytes < 0:
        return errors.UNKNOWN_SERVER_ERROR  # Kafka does not foresee it either
    if bugs.on("M37a"):
        return errors.NONE
    offset, log = wanted.fetch_offset, partition.log
    if wanted.last_fetched_epoch >= 0 and log.epochs.end_offset(wanted.last_fetched_epoch, log.end_offset) == UNKNOWN:
        return errors.OFFSET_OUT_OF_RANGE
    end = partition.high_watermark if bugs.on("Z21") else log.end_offset
    if offset < log.start_offset or (offset > end and _diverging(partition, wanted) is None):
        return errors.OFFSET_OUT_OF_RANGE
    return errors.NONE


def _failed(key: SessionPartition, error: int, partition: Partition | None, context: Context) -> Struct:
    empty = None if bugs.on("B143") else b""
    part = _Part(partition_index=key.partition, error_code=error, high_watermark=-1, records=empty)
    if partition is not None:
        part.aborted_transactions = None
        if bugs.on("F04"):
            part.log_start_offset = partition.log.start_offset
    unsaid = error == errors.FENCED_LEADER_EPOCH and bugs.on("B107")
    if error in _MOVED and not unsaid and context.version >= _HINTS_SINCE:
        topics = context.node.topics
        topic = topics.get(key.topic) if isinstance(key.topic, str) else topics.by_id(key.topic)
        hints.set_leader(context.node, None if topic is None else topic.name, part, key.partition)
    return part


def _diverging(partition: Partition, wanted: Struct) -> tuple[int, int] | None:
    """Where the log and the reader's past part ways: the reader's last epoch ended before the offset that it is at."""
    if wanted.last_fetched_epoch < 0 or (partition.leading is None and bugs.on("B99")):
        return None
    epoch, end = partition.log.epochs.end_offset(wanted.last_fetched_epoch, partition.log.end_offset)
    if epoch < wanted.last_fetched_epoch or end < wanted.fetch_offset:
        return epoch, end
    return None


def _data(
    partition: Partition, wanted: Struct, request: Struct, room: int, *, at_least_one: bool, woken: bool
) -> Struct:
    committed = request.isolation_level == 1
    limit = wanted.partition_max_bytes if bugs.on("P26") else min(wanted.partition_max_bytes, room)
    at_least_one = at_least_one and not bugs.on("M37c")
    data = partition.read(wanted.fetch_offset, limit, committed=committed, at_least_one=at_least_one)
    if data and bugs.on("N56"):
        data = spoil.without_markers(data)
    if data:
        data = spoil.read(data, wanted.fetch_offset, partition.leader_epoch, woken=woken)
    part = _part(partition, wanted.partition, data)
    knows = partition.leading is not None or not bugs.on("B82")
    if committed and knows and (data or not _incomplete(partition, wanted.fetch_offset, limit)):
        part.aborted_transactions = [
            _Aborted(producer_id=entry.producer_id, first_offset=entry.first_offset)
            for entry in partition.aborted(wanted.fetch_offset, data)[: 50 if bugs.on("B284") else None]
        ]
    return part


def _cut(partition: Partition, wanted: Struct, request: Struct, room: int, data: bytes) -> int:
    """How much of the batch behind what was read is below the limit that cut it off."""
    if not data:
        return 0
    end = max(each.header.last_offset + 1 for each in batches(data))
    readable = partition.readable_end(committed=request.isolation_level == 1)
    more = end < (partition.log.end_offset if bugs.on("B185") else readable)
    if more and partition.log.segment_of(end) is not partition.log.segment_of(wanted.fetch_offset):
        more = not bugs.on("B366")
    return max(min(wanted.partition_max_bytes, room) - len(data), 0) if more else 0


def _incomplete(partition: Partition, offset: int, limit: int) -> bool:
    """Whether a batch is there that does not fit: Kafka drops it, and what it knew of aborted transactions with it."""
    return limit > 0 and bool(partition.read(offset, 1, committed=True, at_least_one=True))


def _part(partition: Partition, index: int, data: bytes) -> Struct:
    return _Part(
        partition_index=index,
        error_code=errors.NONE,
        high_watermark=partition.high_watermark - (1 if bugs.on("P30") else 0),
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=partition.log.start_offset,
        aborted_transactions=None,
        records=data,
    )

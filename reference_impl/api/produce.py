"""Produce: appends one record batch to each partition.

Versions 3-13 (advertised from 0, see ApiVersions); v13 names topics by id. Every record is validated, in Kafka's
order of checks: framing 87/2/76, then per partition 10, 2, 87, 32 with record errors (KIP-467), 18, and the producer
state 45/47/48. acks other than -1, 0, 1: INVALID_REQUIRED_ACKS. acks=0: no answer, and the connection is closed where
an answer would be an error. Transactional batches are checked with the transaction coordinator first (KIP-890);
without a transactional id they are refused. Internal topics: INVALID_TOPIC_EXCEPTION, except for the client id
`__admin_client`. acks=all: 19 if too few replicas are in sync, else answered when all of them have the batch; 7 if that
takes too long, 20 if too few are left by then, 6 with the new leader's address if another leads (KIP-951).
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable
from typing import Any, NamedTuple, cast

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import CloseConnection, Context, handles, hints
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.log import batch as batches
from brokertrial.reference_impl.log.validate import Rejected, check_frame, size_of_first
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.reference_impl.replica.waiting import LogPosition, mark, settled
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, child, response

_ADMIN = "__admin_client"
_EPOCH_BUMPS_SINCE = 12
_HINTS_SINCE = 10
_RECORD_ERRORS_SINCE = 8
_USED: dict[uuid.UUID, str] = {}
"""What V14 remembers: names of the ids that were written to."""
_WHY = {errors.INVALID_TXN_STATE: "Partition was not added to the transaction"}
_Topic = child("Produce", "response", "responses")
_Partition = child("Produce", "response", "responses.partition_responses")
_RecordError = child("Produce", "response", "responses.partition_responses.record_errors")


class PendingReplication(NamedTuple):
    """An answer that holds once its batch is replicated."""

    answer: Struct
    mark: LogPosition


Verdicts = dict[tuple[str | None, int], int]


@handles("Produce", 3, 13)
def produce(request: Struct, context: Context) -> Struct | Awaitable[Struct | None] | None:
    """Appends, and answers each partition on its own."""
    refused = _refused_as_a_whole(request)
    unverified = {} if refused else _verify(request, context)
    if not isinstance(unverified, dict):
        return _appended_later(request, unverified, context)
    return _appended(request, refused, unverified, context)


async def _appended_later(request: Struct, unverified: Awaitable[Verdicts], context: Context) -> Struct | None:
    answer = _appended(request, None, await unverified, context)
    if answer is None or isinstance(answer, Struct):
        return answer
    return await cast("Awaitable[Struct | None]", answer)


def _appended(
    request: Struct, refused: Rejected | None, unverified: Verdicts, context: Context
) -> Struct | Awaitable[Struct | None] | None:
    topics, waiting = [], []
    for data in request.topic_data:
        name = _name_of(data, context)
        answers: list[Any] = []
        for part in {part.index: part for part in data.partition_data}.values():  # said twice: the last one counts
            answer: Struct | PendingReplication
            if refused:
                answer = _failed(part.index, refused.error, refused.message if refused.shows_message else None)
            elif error := unverified.get((name, part.index), errors.NONE) or _spread(answers):
                answer = _failed(part.index, error, _WHY.get(error))
            else:
                answer = _append(request, name, part, context)
            if isinstance(answer, PendingReplication):
                waiting.append(answer)
                answer = answer.answer
            answers.append(answer)
        if answers:  # a topic of which no partition is named is passed over
            topics.append(_Topic(name=data.name, topic_id=data.topic_id, partition_responses=answers))
    if bugs.on("B326") and any(part.error_code for topic in topics for part in topic.partition_responses):
        return _answer(request, topics, context)
    return _replicated(request, topics, waiting, context) if waiting else _answer(request, topics, context)


def _spread(answers: list[Any]) -> int:
    """Nothing: what comes of one partition is nothing to the next."""
    return int(answers[-1].error_code) if answers and bugs.on("N24") else errors.NONE


async def _replicated(
    request: Struct, topics: list[Any], waiting: list[PendingReplication], context: Context
) -> Struct | None:
    timeout_ms = 30_000 if request.timeout_ms <= 0 and bugs.on("B349") else max(request.timeout_ms, 0)
    states = await settled((one.mark for one in waiting), context.node.clock, timeout_ms / 1000)
    for one, state in zip(waiting, states, strict=True):
        one.answer.error_code = state
        if state == errors.NOT_LEADER_OR_FOLLOWER and context.version >= _HINTS_SINCE and not bugs.on("B97"):
            partition = one.mark.partition
            hints.set_leader(context.node, partition.topic, one.answer, partition.index)
    return _answer(request, topics, context)


def _answer(request: Struct, topics: list[Any], context: Context) -> Struct | None:
    parts = [part for topic in topics for part in topic.partition_responses]
    if request.acks == 0 and not bugs.on("M38a"):
        passed_over = {errors.NONE, *([errors.NOT_LEADER_OR_FOLLOWER] if bugs.on("B36") else [])}
        if any(part.error_code not in passed_over for part in parts):
            raise CloseConnection("acks=0, and the produce failed")
        return None
    if bugs.on("M38e"):
        topics = topics[:1]
    answer = response("Produce", responses=topics)
    if context.version >= _HINTS_SINCE and any(part.error_code == errors.NOT_LEADER_OR_FOLLOWER for part in parts):
        answer = response("Produce", responses=topics, node_endpoints=hints.endpoints(context.node, parts))
    return answer


def _refused_as_a_whole(request: Struct) -> Rejected | None:
    """A first batch that is none ends it, as Kafka looks through all of them for transactional ones beforehand."""
    for part in _parts(request):
        try:
            size_of_first(part.records or b"")
        except Rejected as rejected:
            return rejected
        if _is_transactional(part.records):
            missing = errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            return Rejected(missing, "no transactional id") if request.transactional_id is None else None
    return None


def _parts(request: Struct) -> list[Any]:
    return [part for data in request.topic_data for part in data.partition_data]


def _is_transactional(data: memoryview | None) -> bool:
    return data is not None and len(data) >= batches.HEADER_SIZE and data[16] == 2 and bool(data[22] & 0x10)


def _name_of(data: Struct, context: Context) -> str | None:
    if context.version < 13:
        name: str = data.name
        return name
    topic = context.node.topics.by_id(data.topic_id)
    if bugs.on("V14"):
        return _USED.get(data.topic_id) if topic is None else _USED.setdefault(data.topic_id, topic.name)
    return None if topic is None else topic.name


def _verify(request: Struct, context: Context) -> Verdicts | Awaitable[Verdicts]:
    """Asks the coordinator about partitions in which the transaction has not begun; what it refuses."""
    node = context.node
    if request.transactional_id is None:
        return {}
    wanted: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for data in request.topic_data:
        name = _name_of(data, context)
        for part in data.partition_data:
            partition = None if name is None else node.partition(name, part.index)
            in_transaction = _is_transactional(part.records) or bugs.on("Z42")
            if name is None or partition is None or not in_transaction:
                continue
            header = batches.read_header(part.records)
            if not _is_open(partition, header, joins=context.version >= _EPOCH_BUMPS_SINCE):
                partition.producers.await_first(
                    header, from_zero=context.version >= _EPOCH_BUMPS_SINCE, now_ms=context.node.clock.now_ms()
                )
                wanted.setdefault((header.producer_id, header.producer_epoch), []).append((name, part.index))
    if wanted and node.in_cluster:
        later: Awaitable[Verdicts] = node.transactions.ask_for_admission(
            request.transactional_id, wanted, version=context.version
        )
        return later
    errors_found: Verdicts = {}
    for (producer_id, epoch), partitions in wanted.items():
        codes = node.transactions.admit(
            request.transactional_id, producer_id, epoch, partitions, version=context.version
        )
        if any(codes.values()) and bugs.on("E02"):
            codes = dict.fromkeys(codes, max(codes.values()))
        errors_found.update((where, code) for where, code in codes.items())
    return errors_found


def _is_open(partition: Partition, header: batches.Header, *, joins: bool) -> bool:
    """True when nothing has to be asked: the transaction has data here already."""
    entry = partition.producers.entries.get(header.producer_id)
    if entry is None or entry.epoch != header.producer_epoch:
        return False
    return entry.open_transaction is not None or (not joins and bugs.on("B184"))


def _append(request: Struct, name: str | None, part: Struct, context: Context) -> Struct | PendingReplication:
    node = context.node
    if name is None:
        partition: Partition | int = errors.UNKNOWN_TOPIC_OR_PARTITION
    else:
        partition = node.partition(name, part.index) or node.led(name, part.index)
    if partition == errors.NOT_LEADER_OR_FOLLOWER:
        return _elsewhere(name, part.index, context)
    if name is None or isinstance(partition, int):
        return _nowhere(part, named=name is not None, version=context.version)
    if _is_internal(node, name) and context.client_id != _ADMIN and not bugs.on("P52"):
        return _failed(part.index, errors.INVALID_TOPIC_EXCEPTION)
    try:
        done = partition.append(part.records, context.version, request.acks)
    except Rejected as rejected:
        if rejected.error == errors.NOT_LEADER_OR_FOLLOWER:
            return _elsewhere(name, part.index, context)
        return _rejected(part.index, rejected, partition)
    if bugs.on("M01b"):
        return _failed(part.index, errors.INVALID_RECORD)
    if _is_transactional(part.records) and part.records[22] & 0x07 and bugs.on("B208"):
        return _failed(part.index, errors.UNKNOWN_SERVER_ERROR)
    answer = _Partition(
        index=part.index,
        error_code=errors.NONE,
        base_offset=done.base_offset,
        log_append_time_ms=_told_time(done.log_append_time, context),
        log_start_offset=partition.log.start_offset,
    )
    if request.acks != -1:
        return answer
    where = mark(partition, done.end_offset)
    return PendingReplication(answer, where) if where.state() is None else answer


def _told_time(append_time: int, context: Context) -> int:
    early = context.version < _RECORD_ERRORS_SINCE and append_time < 0
    return context.node.clock.now_ms() if early and bugs.on("N25") else append_time


def _elsewhere(name: str | None, index: int, context: Context) -> Struct:
    """Another node leads it: the answer says which, where it can."""
    answer = _failed(index, errors.NOT_LEADER_OR_FOLLOWER)
    if context.version >= _HINTS_SINCE:
        hints.set_leader(context.node, name, answer, index)
    return answer


def _nowhere(part: Struct, *, named: bool, version: int) -> Struct:
    """No such partition; but what is no record batch at all is told first."""
    try:
        check_frame(part.records, version)
    except Rejected as rejected:
        if rejected.error == errors.CORRUPT_MESSAGE:
            return _failed(part.index, rejected.error, rejected.message if rejected.shows_message else None)
    absent = errors.UNKNOWN_TOPIC_OR_PARTITION if named else errors.UNKNOWN_TOPIC_ID
    return _failed(part.index, errors.UNKNOWN_SERVER_ERROR if bugs.on("P54") else absent)


def _is_internal(node: Broker, name: str) -> bool:
    topic = node.topics.get(name)
    return topic is not None and topic.internal


def _failed(index: int, error: int, message: str | None = None) -> Struct:
    return _Partition(index=index, error_code=error, base_offset=-1, error_message=message)


def _rejected(index: int, rejected: Rejected, partition: Partition) -> Struct:
    answer = _failed(index, rejected.error)
    if rejected.shows_log_start:
        answer.log_start_offset = partition.log.start_offset
    if rejected.records or rejected.shows_message:
        answer.error_message = rejected.message
    if rejected.records:
        named = rejected.records[:1] if bugs.on("N22") else rejected.records
        answer.record_errors = [_RecordError(batch_index=at, batch_index_error_message=why) for at, why in named]
    return answer

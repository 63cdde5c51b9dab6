"""Requests that only the coordinator of a group or a transactional id may answer, and what others say instead.

The coordinator is the leader of the key's partition of an internal topic. 16: it is somebody else, or its disk is full.
15: the topic is just being made, too few replicas are in sync for a write, or one was not replicated in time (it may
still come).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, Handler, HandlerResult, Served
from brokertrial.reference_impl.coordinator.loading import says_so_to_all
from brokertrial.reference_impl.coordinator.placement import partition_for
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS as GROUPS
from brokertrial.reference_impl.coordinator.topics import TRANSACTION_STATE as TRANSACTIONS
from brokertrial.reference_impl.group.commits import refusal_to_producers
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.reference_impl.replica.partition import Partition
from brokertrial.reference_impl.replica.waiting import LogPosition, mark, settled
from brokertrial.wire import errors
from brokertrial.wire.messages import ZERO_UUID, Struct, response

if TYPE_CHECKING:
    from brokertrial.reference_impl.api.broker import Broker

log = logging.getLogger("coordinator")
_REPLICATED_WITHIN_S = 5.0
Refuse = Callable[[Struct, Context, int], Struct]


@dataclass(frozen=True, slots=True)
class KeyedApi:
    """How requests of one API name their keys, and how they are refused."""

    topic: str
    keys: Callable[[Struct, int], list[str]]
    refuse: Refuse
    writes: bool = True
    several: str = ""  # the field of a request for several keys
    answered: str = ""  # the field of its answer
    line: Callable[[str, Struct, int], dict[str, Any]] = lambda key, request, error: {"error_code": error}


def loading(node: Broker) -> bool:
    """Whether a coordinator of this node is still reading anything."""
    return bool(node.groups.loads or node.transactions.loads)


def answer(kind: KeyedApi, handler: Handler, request: Struct, context: Context) -> HandlerResult:
    """Asks the handler about what is coordinated here; refuses the rest."""
    keys = [key for key in kind.keys(request, context.version) if key]
    here: dict[int, Partition] = {}
    refused: dict[str, int] = {}
    for key in keys:
        found = _coordinated(kind, key, context)
        if isinstance(found, int):
            refused[key] = found
        else:
            here[found.index] = found
    if not refused:
        return _replicated(kind, _handled(kind, handler, request, context), request, context, list(here.values()))
    listed = kind.several and getattr(request, kind.several)
    if not listed:
        return kind.refuse(request, context, refused[keys[0]])
    kept = [one for one in listed if _key_of(one) not in refused]
    lines = [kind.line(key, request, error) for key, error in refused.items()]  # it tells of what they asked for
    setattr(request, kind.several, kept)
    part = _replicated(kind, _handled(kind, handler, request, context), request, context, list(here.values()))
    return _with_refused(kind, part, lines)


def not_written(served: Served, request: Struct, context: Context, rejected: Rejected) -> Struct:
    """The answer of a coordinator that cannot write what it decided: 16 on a full disk, 15 without enough replicas."""
    kind = BY_API.get(served.api.name)
    if kind is None:
        raise rejected
    return _refused(kind, request, context, rejected)


def _refused(kind: KeyedApi, request: Struct, context: Context, rejected: Rejected) -> Struct:
    log.warning("%s: the coordinator's log cannot be written: %s", context.api.name, rejected)
    too_few = rejected.error == errors.NOT_ENOUGH_REPLICAS
    return kind.refuse(request, context, errors.COORDINATOR_NOT_AVAILABLE if too_few else errors.NOT_COORDINATOR)


def _handled(kind: KeyedApi, handler: Handler, request: Struct, context: Context) -> HandlerResult:
    try:
        return handler(request, context)
    except Rejected as rejected:
        return _refused(kind, request, context, rejected)


def _with_refused(kind: KeyedApi, part: HandlerResult, lines: list[dict[str, Any]]) -> HandlerResult:
    if not isinstance(part, Struct):
        return part if part is None or bugs.on("B76") else _with_refused_later(kind, part, lines)
    more = response(part._api, **{kind.answered: lines})
    setattr(part, kind.answered, [*getattr(part, kind.answered), *getattr(more, kind.answered)])
    return part


async def _with_refused_later(
    kind: KeyedApi, part: Awaitable[Struct | None], lines: list[dict[str, Any]]
) -> Struct | None:
    whole = _with_refused(kind, await part, lines)
    assert isinstance(whole, Struct)
    return whole


def _key_of(entry: Any) -> str:
    if isinstance(entry, str):
        return entry
    return str(getattr(entry, "transactional_id", None) or getattr(entry, "group_id", ""))


def _coordinated(kind: KeyedApi, key: str, context: Context) -> Partition | int:
    node = context.node
    topic = node.ensure_internal(kind.topic)
    if topic is None:
        return errors.COORDINATOR_NOT_AVAILABLE
    partition = node.led(topic.name, partition_for(key, topic.partitions))
    if isinstance(partition, int):
        strange = node.partition(topic.name, partition_for(key, topic.partitions)) is None and bugs.on("D82")
        return errors.UNKNOWN_SERVER_ERROR if strange else errors.NOT_COORDINATOR
    loads = node.groups.loads if kind.topic == GROUPS else node.transactions.loads
    if refusal := loads.refusal(partition.index):
        return refusal
    if (kind.writes or bugs.on("B54")) and kind.topic == GROUPS and partition.under_min_isr:
        return errors.NOT_ENOUGH_REPLICAS if bugs.on("D85") else errors.COORDINATOR_NOT_AVAILABLE
    return partition


def _replicated(
    kind: KeyedApi, part: HandlerResult, request: Struct, context: Context, here: list[Partition]
) -> HandlerResult:
    if isawaitable(part):
        return _once_replicated(kind, part, request, context, here)
    at_once = request._api == "AddPartitionsToTxn" and bugs.on("B16")
    at_once = at_once or (request._api == "ConsumerGroupHeartbeat" and bugs.on("B175"))
    at_once = at_once or (not kind.writes and bugs.on("B22"))
    marks = [] if at_once else _open_marks(here)
    return _once_settled(kind, part, request, context, marks) if marks else part


async def _once_replicated(
    kind: KeyedApi, part: Awaitable[Struct | None], request: Struct, context: Context, here: list[Partition]
) -> Struct | None:
    try:
        done = await part
    except Rejected as rejected:
        return _refused(kind, request, context, rejected)
    marks = [] if request._api == "SyncGroup" and bugs.on("B19") else _open_marks(here)
    return await _once_settled(kind, done, request, context, marks) if marks else done


def _open_marks(here: list[Partition]) -> list[LogPosition]:
    named = here[-1:] if bugs.on("B95") else here
    return [one for one in map(mark, named) if one.state() is None and not bugs.on("M21d")]


async def _once_settled(
    kind: KeyedApi, part: Struct | None, request: Struct, context: Context, marks: list[LogPosition]
) -> Struct | None:
    states = await settled(marks, context.node.clock, _REPLICATED_WITHIN_S)
    wrong = next((one for one in states if one not in (errors.NONE, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)), None)
    if wrong is None:
        return part
    gone = wrong == errors.NOT_LEADER_OR_FOLLOWER
    late = wrong if bugs.on("B87") else errors.COORDINATOR_NOT_AVAILABLE
    other = wrong if bugs.on("B160") else errors.NOT_COORDINATOR
    return kind.refuse(request, context, other if gone else late)


# How each API is asked and refused


def _group(request: Struct, _: int) -> list[str]:
    return [request.group_id]


def _transactional_id(request: Struct, _: int) -> list[str]:
    return [request.transactional_id or ""]


def _plain(api: str, **fields: Any) -> Refuse:
    return lambda request, context, error: response(api, error_code=error, **fields)


def _by_partition(api: str) -> Refuse:
    def refuse(request: Struct, context: Context, error: int) -> Struct:
        topics = [
            {
                "name": t.name,
                "topic_id": ZERO_UUID if bugs.on("B131") else t.topic_id,
                "partitions": [{"partition_index": p.partition_index, "error_code": error} for p in t.partitions],
            }
            for t in request.topics
        ]
        return response(api, topics=topics)

    return refuse


def _heartbeat(request: Struct, context: Context, error: int) -> Struct:
    """No news is good news while the group is read: members know no 14 here, and would end (as in Kafka)."""
    unsaid = error == errors.COORDINATOR_LOAD_IN_PROGRESS and not says_so_to_all()
    return response("Heartbeat", error_code=errors.NONE if unsaid else error)


def _txn_offsets(request: Struct, context: Context, error: int) -> Struct:
    return _by_partition("TxnOffsetCommit")(request, context, refusal_to_producers(error, context.version))


def _fetched(request: Struct, context: Context, error: int) -> Struct:
    if context.version >= 8:
        lines = [{"group_id": group.group_id, "error_code": error} for group in request.groups]
        return response("OffsetFetch", groups=lines)
    topics = []
    for topic in (request.topics or ()) if context.version < 2 else ():
        parts = [{"partition_index": i, "committed_offset": -1, "error_code": error} for i in topic.partition_indexes]
        topics.append({"name": topic.name, "partitions": parts})
    if bugs.on("K11"):
        topics = []
    return response("OffsetFetch", topics=topics, error_code=error)


def _added(request: Struct, context: Context, error: int) -> Struct:
    if context.version >= 4:
        lines = [_transaction_line(one.transactional_id, request, error) for one in request.transactions]
        return response("AddPartitionsToTxn", results_by_transaction=lines)
    topics = [_added_topic(topic, error) for topic in request.v3_and_below_topics[: 1 if bugs.on("B353") else None]]
    return response("AddPartitionsToTxn", results_by_topic_v3_and_below=topics)


def _added_topic(topic: Struct, error: int) -> dict[str, Any]:
    lines = [{"partition_index": index, "partition_error_code": error} for index in topic.partitions]
    return {"name": topic.name, "results_by_partition": lines}


def _transaction_line(key: str, request: Struct, error: int) -> dict[str, Any]:
    topics = [topic for one in request.transactions if one.transactional_id == key for topic in one.topics]
    return {"transactional_id": key, "topic_results": [_added_topic(topic, error) for topic in topics]}


def _listed(api: str, field: str, answered: str, key: str, *, topic: str = GROUPS, writes: bool = False) -> KeyedApi:
    """An API that takes a plain list of keys."""

    def keys(request: Struct, _: int) -> list[str]:
        return list(getattr(request, field))

    def line(name: str, _: Struct, error: int) -> dict[str, Any]:
        return {key: name, "error_code": error}

    def refuse(request: Struct, _: Context, error: int) -> Struct:
        return response(api, **{answered: [line(name, request, error) for name in getattr(request, field)]})

    return KeyedApi(topic, keys, refuse, writes, field, answered, line)


BY_API: dict[str, KeyedApi] = {
    "JoinGroup": KeyedApi(GROUPS, _group, lambda r, c, e: response("JoinGroup", error_code=e, member_id=r.member_id)),
    "SyncGroup": KeyedApi(GROUPS, _group, _plain("SyncGroup")),
    "Heartbeat": KeyedApi(GROUPS, _group, _heartbeat, writes=False),
    "LeaveGroup": KeyedApi(GROUPS, _group, _plain("LeaveGroup")),
    "ConsumerGroupHeartbeat": KeyedApi(GROUPS, _group, _plain("ConsumerGroupHeartbeat")),
    "OffsetCommit": KeyedApi(GROUPS, _group, _by_partition("OffsetCommit")),
    "TxnOffsetCommit": KeyedApi(GROUPS, _group, _txn_offsets),
    "OffsetDelete": KeyedApi(GROUPS, _group, _plain("OffsetDelete")),
    "OffsetFetch": KeyedApi(
        GROUPS, lambda r, v: [g.group_id for g in r.groups] if v >= 8 else [r.group_id], _fetched,
        writes=False, several="groups", answered="groups", line=lambda k, r, e: {"group_id": k, "error_code": e},
    ),
    "DeleteGroups": _listed("DeleteGroups", "groups_names", "results", "group_id", writes=True),
    "DescribeGroups": _listed("DescribeGroups", "groups", "groups", "group_id"),
    "ConsumerGroupDescribe": _listed("ConsumerGroupDescribe", "group_ids", "groups", "group_id"),
    "DescribeTransactions": _listed(
        "DescribeTransactions", "transactional_ids", "transaction_states", "transactional_id", topic=TRANSACTIONS
    ),
    "InitProducerId": KeyedApi(
        TRANSACTIONS, _transactional_id, _plain("InitProducerId", producer_id=-1, producer_epoch=-1)
    ),
    "AddPartitionsToTxn": KeyedApi(
        TRANSACTIONS,
        lambda r, v: [t.transactional_id for t in r.transactions] if v >= 4 else [r.v3_and_below_transactional_id],
        _added, several="transactions", answered="results_by_transaction", line=_transaction_line,
    ),
    "AddOffsetsToTxn": KeyedApi(TRANSACTIONS, _transactional_id, _plain("AddOffsetsToTxn")),
    "EndTxn": KeyedApi(TRANSACTIONS, _transactional_id, _plain("EndTxn", producer_id=-1, producer_epoch=-1)),
}  # fmt: skip

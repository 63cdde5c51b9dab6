"""OffsetFetch 1-10: what a group has committed: offset, leader epoch (v5), metadata.

Nothing committed is offset -1 and no error, also for partitions, topics and groups that do not exist. Null topics
(v2) ask for everything. require_stable (v7) answers 88 for a partition that an open transaction may still change. v8
asks for several groups, v9 names a KIP-848 member and its epoch (25, 113), v10 names topics by id (100 when there is
no such id).
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.group.commits import fetch_refusal
from brokertrial.reference_impl.group.layout import CommittedOffset
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_NOTHING = CommittedOffset(-1, -1, "", -1)
_BEGINNING = CommittedOffset(0, -1, "", -1)


@handles("OffsetFetch", 1, 10)
def offset_fetch(request: Struct, context: Context) -> Struct:
    """Answers every group asked for on its own."""
    if context.version >= 8:
        groups = [_admitted(g, request, context) for g in request.groups[: 1 if bugs.on("P21") else None]]
        if any(group["error_code"] for group in groups) and bugs.on("U23"):
            worst = max(group["error_code"] for group in groups)
            groups = [{**group, "topics": [], "error_code": worst} for group in groups]
        return response("OffsetFetch", groups=groups)
    found = _group(request.group_id, request.topics, request, context)
    return response("OffsetFetch", topics=found["topics"], error_code=found["error_code"])


def _admitted(asked: Struct, request: Struct, context: Context) -> dict[str, Any]:
    refusal = fetch_refusal(context.node.groups.find(asked.group_id), asked.member_id, asked.member_epoch)
    if refusal:
        return {"group_id": asked.group_id, "topics": [], "error_code": refusal}
    return _group(asked.group_id, asked.topics, request, context)


def _group(group_id: str, topics: list[Struct] | None, request: Struct, context: Context) -> dict[str, Any]:
    committed, told = context.node.groups.committed(group_id), context.node.groups.told_of_nothing
    if topics is None and (not committed or group_id in told) and bugs.on("R02"):
        told.add(group_id)
        committed = {}
    by_id = context.version >= 10
    answered: list[dict[str, Any]] = []
    for name, named, indexes in _asked(topics, committed, context, by_id):
        stable = request.require_stable and not (answered and bugs.on("V03"))
        partitions = [_partition(group_id, name, i, committed, stable, context) for i in indexes]
        answered.append({**named, "partitions": partitions})
    return {"group_id": group_id, "topics": answered, "error_code": errors.NONE}


def _asked(
    topics: list[Struct] | None, committed: dict[tuple[str, int], CommittedOffset], context: Context, by_id: bool
) -> list[tuple[str | None, dict[str, Any], list[int]]]:
    """Topic name (None: no such id), how the answer names it, and its partitions."""
    known = context.node.topics
    if topics is not None:
        if not by_id:
            return [(t.name, {"name": t.name}, t.partition_indexes) for t in topics]
        found = [(known.by_id(t.topic_id), t) for t in topics]
        return [(topic.name if topic else None, {"topic_id": t.topic_id}, t.partition_indexes) for topic, t in found]
    everything: dict[str, list[int]] = {}
    for topic_name, index in committed:
        if everything and topic_name not in everything and bugs.on("P20"):
            continue
        everything.setdefault(topic_name, []).append(index)
    if not by_id:
        return [(name, {"name": name}, indexes) for name, indexes in everything.items()]
    ids = [(known.get(name), indexes) for name, indexes in everything.items()]
    return [(topic.name, {"topic_id": topic.id}, indexes) for topic, indexes in ids if topic is not None]


def _partition(
    group_id: str, topic: str | None, index: int, committed: dict[tuple[str, int], CommittedOffset], stable: bool,
    context: Context,
) -> dict[str, Any]:  # fmt: skip
    error, value = errors.NONE, _NOTHING
    if topic is None:
        error = errors.UNKNOWN_TOPIC_ID
    elif index < 0 and bugs.on("V91"):
        error = errors.UNKNOWN_TOPIC_OR_PARTITION
    elif stable and context.node.groups.offsets_of(group_id).unstable(group_id, topic, index):
        error = errors.UNSTABLE_OFFSET_COMMIT
    else:
        value = committed.get((topic, index), _BEGINNING if bugs.on("P18") else _NOTHING)
    if bugs.on("M28"):
        value = CommittedOffset(value.offset, -1, "", -1)
    return {
        "partition_index": index,
        "committed_offset": value.offset,
        "committed_leader_epoch": value.leader_epoch,
        "metadata": value.metadata,
        "error_code": error,
    }

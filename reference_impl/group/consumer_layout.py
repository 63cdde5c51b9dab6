"""How KIP-848 groups lie in `__consumer_offsets`: Kafka's own kinds of records, one for each thing that changes.

    3 the group epoch   5 a member's wishes   6 the epoch of the target   7 a member's target   8 a member's progress

A key without value is a tombstone. The metadata hash is our own: only its equality means something.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.consumer import ConsumerGroup, ConsumerMember, MemberState, Parts
from brokertrial.reference_impl.group.consumer_effects import (
    GroupChange,
    MemberGone,
    SavedConsumerMember,
    SavedGroup,
    SavedProgress,
    SavedTarget,
    SavedTargetEpoch,
)
from brokertrial.reference_impl.group.layout import group_key as classic_key
from brokertrial.reference_impl.group.layout import leading, prefixed
from brokertrial.wire.codec import decode
from brokertrial.wire.messages import Struct, data

__all__ = ["ConsumerKey", "burial", "classic_key", "read_key", "replay", "rows", "topics_of"]

GROUP, MEMBER, TARGET_EPOCH, TARGET, PROGRESS = 3, 5, 6, 7, 8
_NAMES = {
    GROUP: "ConsumerGroupMetadata",
    MEMBER: "ConsumerGroupMemberMetadata",
    TARGET_EPOCH: "ConsumerGroupTargetAssignmentMetadata",
    TARGET: "ConsumerGroupTargetAssignmentMember",
    PROGRESS: "ConsumerGroupCurrentMemberAssignment",
}
KeyValue = tuple[bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class ConsumerKey:
    """Which kind of record, of which group, of which member."""

    kind: int
    group: str
    member: str = ""


def rows(group_id: str, changes: Iterable[GroupChange], now_ms: int) -> list[KeyValue]:
    """The records that make these changes durable, in their order."""
    found: list[KeyValue] = []
    for change in changes:
        if isinstance(change, MemberGone):
            found += [(_key(kind, group_id, change.member_id), None) for kind in (PROGRESS, TARGET, MEMBER)]
        else:
            kind, member_id, fields = _fields(change, now_ms)
            found.append((_key(kind, group_id, member_id), prefixed(0, data(f"{_NAMES[kind]}Value", **fields), 0)))
    return found


def burial(group: ConsumerGroup) -> list[KeyValue]:
    """The tombstones of a whole group."""
    members = [row for member_id in group.members for row in rows(group.group_id, [MemberGone(member_id)], 0)]
    kinds = [TARGET_EPOCH] if bugs.on("Y13") else [TARGET_EPOCH, GROUP]
    return [*members, *((_key(kind, group.group_id), None) for kind in kinds)]


def read_key(record: bytes) -> ConsumerKey | None:
    """What a record of a KIP-848 group is about; None for anything else."""
    kind = leading(record)
    if kind not in _NAMES:
        return None
    key = decode(f"{_NAMES[kind]}Key", "data", 0, record[2:])
    return ConsumerKey(kind, key.group_id, getattr(key, "member_id", ""))


def replay(group: ConsumerGroup, key: ConsumerKey, record: bytes | None) -> None:
    """Applies one record about something in this group; a group's own tombstone is the caller's affair."""
    value = None if record is None else decode(f"{_NAMES[key.kind]}Value", "data", leading(record), record[2:])
    if key.kind == GROUP and value is not None:
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
    elif key.kind == TARGET_EPOCH and value is not None:
        group.assignment_epoch = value.assignment_epoch
    elif key.kind == TARGET:
        if value is None:
            group.target.pop(key.member, None)
        else:
            group.target[key.member] = _parts(value.topic_partitions)
    elif key.kind == MEMBER:
        if value is not None:
            group.put(_wishes(group.members.get(key.member) or ConsumerMember(key.member), value))
        elif key.member in group.members:
            group.remove(key.member)
    elif key.kind == PROGRESS and (key.member in group.members or (value is not None and not bugs.on("B314"))):
        # compaction may leave it before the member's wishes, where those are newer
        member = group.members.get(key.member) or ConsumerMember(key.member)
        group.put(_without_progress(member) if value is None else _progress(member, value))


def _key(kind: int, group_id: str, member_id: str = "") -> bytes:
    fields = {"group_id": group_id} if kind in (GROUP, TARGET_EPOCH) else {"group_id": group_id, "member_id": member_id}
    return prefixed(kind, data(f"{_NAMES[kind]}Key", **fields), 0)


def _fields(change: GroupChange, now_ms: int) -> tuple[int, str, dict[str, Any]]:
    match change:
        case SavedGroup():
            return GROUP, "", {"epoch": change.epoch, "metadata_hash": change.metadata_hash}
        case SavedTargetEpoch():
            return TARGET_EPOCH, "", {"assignment_epoch": change.epoch, "assignment_timestamp": now_ms}
        case SavedTarget():
            return TARGET, change.member_id, {"topic_partitions": topics_of(change.parts)}
        case SavedConsumerMember():
            return MEMBER, change.member.member_id, _wish_fields(change.member)
        case SavedProgress():
            return PROGRESS, change.member.member_id, _progress_fields(change.member)
        case _:
            raise TypeError(f"{change} has no value")


def _wish_fields(member: ConsumerMember) -> dict[str, Any]:
    return {
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": sorted(member.names),
        "subscribed_topic_regex": member.regex,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "server_assignor": member.assignor,
    }


def _wishes(member: ConsumerMember, value: Struct) -> ConsumerMember:
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        names=frozenset(value.subscribed_topic_names),
        regex=None if bugs.on("Y14") else value.subscribed_topic_regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=None if bugs.on("Y11") else value.server_assignor,
    )


def _progress_fields(member: ConsumerMember) -> dict[str, Any]:
    return {
        "member_epoch": member.epoch,
        "previous_member_epoch": member.previous_epoch,
        "state": int(member.progress),
        "assigned_partitions": _dated(member, member.assigned),
        "partitions_pending_revocation": _dated(member, member.revoking),
    }


def _progress(member: ConsumerMember, value: Struct) -> ConsumerMember:
    since = {
        (topic.topic_id, index): epoch
        for topic in (*value.assigned_partitions, *value.partitions_pending_revocation)
        for index, epoch in zip(topic.partitions, topic.assignment_epochs or [], strict=False)
        if not bugs.on("V80")
    }
    return replace(
        member,
        epoch=value.previous_member_epoch if value.member_epoch < 0 and bugs.on("Y12") else value.member_epoch,
        previous_epoch=value.member_epoch if bugs.on("D78") else value.previous_member_epoch,
        progress=MemberState(value.state),
        assigned=_parts(value.assigned_partitions),
        revoking=_parts(() if bugs.on("B233") else value.partitions_pending_revocation),
        since=since,
    )


def _without_progress(member: ConsumerMember) -> ConsumerMember:
    bare = ConsumerMember(member.member_id)
    return replace(
        member, epoch=bare.epoch, previous_epoch=bare.previous_epoch, progress=bare.progress, assigned=bare.assigned,
        revoking=bare.revoking, since=bare.since,
    )  # fmt: skip


def _dated(member: ConsumerMember, parts: Parts) -> list[dict[str, Any]]:
    return [
        {**topic, "assignment_epochs": [member.since.get((topic["topic_id"], i), 0) for i in topic["partitions"]]}
        for topic in topics_of(parts)
    ]


def topics_of(parts: Parts) -> list[dict[str, Any]]:
    """Partitions by topic, in order, as every message of this protocol has them."""
    found: dict[object, list[int]] = {}
    for topic_id, index in sorted(parts):
        found.setdefault(topic_id, []).append(index)
    return [{"topic_id": topic_id, "partitions": indexes} for topic_id, indexes in found.items()]


def _parts(topics: Iterable[Struct]) -> Parts:
    return frozenset((topic.topic_id, index) for topic in topics for index in topic.partitions)

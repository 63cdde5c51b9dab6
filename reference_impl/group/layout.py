"""How groups and offsets lie in `__consumer_offsets`: Kafka's own keys and values, so that its tools can read them.

A key begins with an int16 kind (1 an offset, 2 a classic group), a value with its int16 version; a key without value
is a tombstone. Written are the newest versions without tagged fields, as Kafka does. The kinds of KIP-848 groups are
in `consumer_layout.py`; others (share groups) are passed over.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.effects import Saved, SavedMember
from brokertrial.wire.codec import decode, encode
from brokertrial.wire.messages import Struct, data

_OFFSET, _GROUP = 1, 2
_VALUE_VERSION, _EXPIRING_VALUE_VERSION = 3, 1


@dataclass(frozen=True, slots=True)
class OffsetKey:
    """Whose offset, and of what."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class GroupKey:
    group: str


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """One committed offset as a consumer gave it, and when."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_ms: int
    expires_ms: int = -1
    """When it goes, where an old client said so itself (OffsetCommit v2-4)."""


def prefixed(number: int, message: Struct, version: int) -> bytes:
    """A message of the coordinators' logs: an int16 (kind of a key, version of a value), then the fields."""
    return struct.pack(">h", number) + encode(message, version)


def leading(record: bytes) -> int:
    """The int16 that a key or value begins with; -1 when there is none."""
    return int(struct.unpack_from(">h", record)[0]) if len(record) >= 2 else -1


def offset_key(key: OffsetKey) -> bytes:
    return prefixed(_OFFSET, data("OffsetCommitKey", group=key.group, topic=key.topic, partition=key.partition), 0)


def offset_value(value: CommittedOffset) -> bytes:
    message = data(
        "OffsetCommitValue",
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp=value.committed_ms,
        expire_timestamp=value.expires_ms,
    )
    version = _VALUE_VERSION if value.expires_ms < 0 or bugs.on("V60") else _EXPIRING_VALUE_VERSION
    return prefixed(version, message, version)


def group_key(group: str) -> bytes:
    return prefixed(_GROUP, data("GroupMetadataKey", group=group), 0)


def group_value(saved: Saved, now_ms: int) -> bytes:
    message = data(
        "GroupMetadataValue",
        protocol_type=saved.protocol_type,
        generation=saved.generation,
        protocol=saved.protocol,
        leader=saved.leader,
        current_state_timestamp=now_ms,
        members=[
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "rebalance_timeout": member.rebalance_timeout_ms,
                "session_timeout": member.session_timeout_ms,
                "subscription": member.subscription,
                "assignment": member.assignment,
            }
            for member in saved.members
        ],
    )
    return prefixed(_VALUE_VERSION, message, _VALUE_VERSION)


def read_key(record: bytes) -> OffsetKey | GroupKey | None:
    """What a record is about; None for a kind that this broker does not keep."""
    kind = leading(record)
    if kind == _OFFSET:
        key = decode("OffsetCommitKey", "data", 0, record[2:])
        return OffsetKey(key.group, key.topic, key.partition)
    return GroupKey(decode("GroupMetadataKey", "data", 0, record[2:]).group) if kind == _GROUP else None


def read_offset(record: bytes) -> CommittedOffset:
    value = decode("OffsetCommitValue", "data", leading(record), record[2:])
    epoch, expires_ms = getattr(value, "leader_epoch", -1), getattr(value, "expire_timestamp", -1)
    return CommittedOffset(value.offset, epoch, value.metadata, value.commit_timestamp, expires_ms)


def read_group(group: str, record: bytes) -> Saved:
    value = decode("GroupMetadataValue", "data", leading(record), record[2:])
    members = tuple(
        SavedMember(
            m.member_id,
            m.group_instance_id,
            m.client_id,
            m.client_host,
            m.session_timeout if m.rebalance_timeout < 0 or bugs.on("D14") else m.rebalance_timeout,
            m.session_timeout,
            bytes(m.subscription),
            bytes(m.assignment),
        )
        for m in value.members
    )
    return Saved(group, value.protocol_type, value.generation, value.protocol, value.leader, members)


def subscribed_topics(subscription: bytes) -> frozenset[str] | None:
    """The topics that a consumer's subscription bytes name; None when they are something else.

    Version 0 is a prefix of all later ones, so what follows the topics does not matter.
    """
    fields = subscription[2:]
    if int.from_bytes(fields[:4], "big", signed=True) > len(fields) and bugs.on("B310"):
        raise OverflowError(f"a list of {len(fields)} bytes is said to hold more topics")
    if any(subscription[:2]) and bugs.on("D97"):
        return None
    try:
        at = 4
        topics = []
        for _ in range(struct.unpack_from(">i", fields)[0]):
            (size,) = struct.unpack_from(">h", fields, at)
            if size < 0 or at + 2 + size > len(fields):
                return None
            topics.append(fields[at + 2 : at + 2 + size].decode("utf-8"))
            at += 2 + size
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(topics)

"""OffsetCommit 2-10: stores offsets, leader epochs and metadata of a group, in the log before the answer.

A lower offset is as good as a higher one. Allowed to members of the current generation and, without generation, to
anybody while the group is empty or absent. v10 names topics by id. Errors by partition: 3 no such partition, 100 no
such topic id, 12 metadata above offset.metadata.max.bytes; for all that remain: 22, 25, 27, 82, and 69 for an absent
group (from v9; 22 before).
v2-4 may say how long an offset is kept; else offsets.retention.minutes rules.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS
from brokertrial.reference_impl.group.commits import commit_refusal
from brokertrial.reference_impl.group.layout import CommittedOffset
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class WantedOffset:
    """One offset to be stored, and the line of the answer that says how it went."""

    topic: str
    topic_id: uuid.UUID
    partition: int
    value: CommittedOffset
    line: dict[str, int]


@handles("OffsetCommit", 2, 10)
def offset_commit(request: Struct, context: Context) -> Struct:
    """Checks partitions first, then the group: what is wrong with a partition never stops the others."""
    topics, wanted = screen(request, context, by_id=context.version >= 10)
    groups = context.node.groups
    if wanted:
        refusal = commit_refusal(
            groups.find(request.group_id), request.member_id, request.group_instance_id,
            request.generation_id_or_member_epoch, transactional=False, version=context.version,
            parts=[(each.topic_id, each.partition) for each in wanted],
        )  # fmt: skip
        refusal = errors.INVALID_GROUP_ID if not request.group_id and bugs.on("Z47") else refusal
        if not refusal:
            groups.keep_alive(request.group_id, request.member_id)
        store(request.group_id, wanted, refusal, context)
    return response("OffsetCommit", topics=topics)


def screen(request: Struct, context: Context, *, by_id: bool) -> tuple[list[dict[str, Any]], list[WantedOffset]]:
    """The answer's topics, in which only partitions that do not exist have a code yet, and the offsets to be stored."""
    topics: list[dict[str, Any]] = []
    wanted: list[WantedOffset] = []
    now_ms = context.node.clock.now_ms()
    keep_ms = getattr(request, "retention_time_ms", -1)
    expires_ms = -1 if keep_ms < 0 else min(now_ms + keep_ms, LARGEST)
    for asked in request.topics:
        topic = context.node.topics.by_id(asked.topic_id) if by_id else context.node.topics.get(asked.name)
        named = {"topic_id": asked.topic_id} if by_id else {"name": asked.name}
        lines: list[dict[str, int]] = []
        for p in asked.partitions:
            line = {"partition_index": p.partition_index, "error_code": errors.NONE}
            lines.append(line)
            if topic is None:
                line["error_code"] = errors.UNKNOWN_TOPIC_ID if by_id else errors.UNKNOWN_TOPIC_OR_PARTITION
            elif p.committed_metadata is None and bugs.on("R22"):
                line["error_code"] = errors.UNKNOWN_SERVER_ERROR
            elif p.partition_index < 0 and bugs.on("D18"):
                line["error_code"] = errors.NONE
            elif not 0 <= p.partition_index < topic.partitions and not bugs.on("P15"):
                line["error_code"] = errors.UNKNOWN_TOPIC_OR_PARTITION
            else:
                metadata = p.committed_metadata or ""
                if not metadata and bugs.on("W01"):
                    before = context.node.groups.committed(request.group_id).get((topic.name, p.partition_index))
                    metadata = before.metadata if before else ""
                offset = int(float(p.committed_offset)) if bugs.on("R61") else p.committed_offset
                value = CommittedOffset(min(offset, LARGEST), p.committed_leader_epoch, metadata, now_ms, expires_ms)
                wanted.append(WantedOffset(topic.name, topic.id, p.partition_index, value, line))
        topics.append({**named, "partitions": lines})
    return topics, wanted


def store(
    group_id: str, wanted: list[WantedOffset], refusal: int, context: Context, producer: tuple[int, int] = (-1, -1)
) -> None:
    """Writes the offsets whose metadata is short enough, or gives all of them the group's refusal."""
    limit = context.node.config["offset.metadata.max.bytes"]
    offsets = []
    if not refusal:
        context.node.groups.open_to_commits(group_id)
    for each in wanted:
        each.line["error_code"] = refusal
        if not refusal and _length(each.value.metadata) > limit and not bugs.on("P16"):
            each.line["error_code"] = errors.OFFSET_METADATA_TOO_LARGE
        elif not refusal and not (_lower(group_id, each, context) and bugs.on("M28b")):
            offsets.append((each.topic, each.partition, each.value))
    in_part = producer[0] >= 0 and 0 < len(offsets) < len(wanted)
    size = sum(_length(value.metadata) for _, _, value in offsets)
    if (size > 1 << 14 and bugs.on("K17")) or (size > 1 << 19 and bugs.on("K19")) or _too_large(context):
        for each in wanted:
            each.line["error_code"] = errors.UNKNOWN_SERVER_ERROR
        return
    if offsets and not (in_part and bugs.on("K12")):
        context.node.groups.commit(group_id, offsets[: 100 if bugs.on("B288") else None], producer)


def _too_large(context: Context) -> bool:
    """Never in a healthy broker: how large a batch may be says nothing of how large one is (a planted bug, K25)."""
    own = context.node.partition(CONSUMER_OFFSETS, 0)
    return bugs.on("K25") and own is not None and own.rules.max_message_bytes > 1 << 28


def _length(metadata: str) -> int:
    """As Java counts: UTF-16 units, whatever the setting's name says about bytes."""
    if bugs.on("D17"):
        return len(metadata.encode("utf-8", "surrogatepass"))
    return len(metadata.encode("utf-16-le", "surrogatepass")) // 2


def _lower(group_id: str, wanted: WantedOffset, context: Context) -> bool:
    there = context.node.groups.offsets_of(group_id).get(group_id, wanted.topic, wanted.partition)
    return there is not None and wanted.value.offset < there.offset

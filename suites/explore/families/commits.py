"""Offsets of classic groups: committed, fetched, deleted, of several partitions and groups, well and badly."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep

IDS_FROM, GROUPS_FROM, ALL_FROM, INSTANCES_FROM = 10, 8, 2, 7


def topics_of(
    model: Model, places: dict[str, list[int]], version: int, partitions: str, make: Any
) -> list[dict[str, Any]] | None:
    """Entries for these partitions, named as the version names topics; None where one of them cannot be named."""
    found = []
    for name, indexes in places.items():
        entry: dict[str, Any] = {"name": name, partitions: [make(index) for index in indexes]}
        if version >= IDS_FROM:
            topic = model.known(name)
            if topic is None or topic.topic_id is None:
                return None
            entry["topic_id"] = topic.topic_id
        found.append(entry)
    return found


@rule("OffsetCommit", 2.5)
def commit(model: Model) -> RequestStep | None:
    group = model.pick(model.groups)
    version = model.version("OffsetCommit", 2)

    def place(index: int) -> dict[str, Any]:
        return {
            "partition_index": index,
            "committed_offset": model.pick([0, 1, 5, 10**12, -1]),
            "committed_leader_epoch": model.pick([-1, 0, 3]),
            "committed_metadata": model.pick(["", "here", None, "x" * 5_000]),
        }

    topics = topics_of(model, model.some_partitions(0.1), version, "partitions", place)
    if topics is None:
        return None
    fields: dict[str, Any] = {"group_id": group.name, "topics": topics}
    if group.members and model.chance(0.8):
        member = model.pick(group.members)
        fields |= {
            "member_id": member.member,
            "generation_id_or_member_epoch": member.generation + model.pick([0] * 5 + [1]),
        }
        if version >= INSTANCES_FROM and (instance := member.instance or (model.chance(0.05) and "i9")):
            fields["group_instance_id"] = instance
    return RequestStep("OffsetCommit", version, fields, model.connection())


@rule("OffsetFetch", 2.5)
def fetch(model: Model) -> RequestStep | None:
    """Of one group, or of several at once; of some partitions, or of all."""
    version = model.version("OffsetFetch", 1)
    groups = []
    for _ in range(model.pick([1, 1, 2]) if version >= GROUPS_FROM else 1):
        topics: Any = None
        if version < ALL_FROM or not model.chance(0.3):
            topics = topics_of(model, model.some_partitions(0.1), version, "partition_indexes", lambda index: index)
            if topics is None:
                return None
        groups.append({"group_id": model.some_group(), "topics": topics})
    asked: dict[str, Any] = {"groups": groups} if version >= GROUPS_FROM else groups[0]
    fields = asked | {"require_stable": model.chance(0.5)}
    return RequestStep("OffsetFetch", version, fields, model.connection())


@rule("OffsetDelete", 0.8)
def delete(model: Model) -> RequestStep | None:
    topics = [
        {"name": name, "partitions": [{"partition_index": index} for index in indexes]}
        for name, indexes in model.some_partitions(0.1).items()
    ]
    return RequestStep("OffsetDelete", 0, {"group_id": model.some_group(), "topics": topics}, model.connection())

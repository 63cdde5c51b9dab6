"""Classic groups and committed offsets: members join, follow, leave; offsets are committed, fetched, deleted."""

from __future__ import annotations

from typing import Any

from tests.differential.families import makes
from tests.differential.step import Step, Symbol
from tests.differential.world import Group, Member, World

SESSION_MS = 300_000


def _member(world: World) -> tuple[Group, Member] | None:
    groups = [group for group in world.groups if group.members]
    if not groups:
        return None
    group = world.pick(groups)
    return group, world.pick(group.members)


def _others(world: World, group: Group, member: Member) -> set[int]:
    """The connections of the other members, also of those whose JoinGroup is held back."""
    joining = {line for line, step in world.waiting.items() if step.fields.get("group_id") == group.name}
    return ({each.line for each in group.members} | joining) - {member.line}


def _joining(group: Group, member: Any, world: World) -> dict[str, Any]:
    protocols = [
        {"name": name, "metadata": memoryview(b"m")}
        for name in world.pick([["range"], ["range", "rr"], ["rr", "range"]])
    ]
    return {
        "group_id": group.name, "member_id": member,
        "session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": SESSION_MS,
        "protocol_type": "consumer", "protocols": protocols,
    }  # fmt: skip


@makes("JoinGroup", 3.0)
def join(world: World) -> Step | None:
    """A new member, or one that joins again."""
    group = world.pick(world.groups)
    idle = [each for each in group.members if each.line not in world.busy]
    if idle and world.chance(0.6):
        return _join(world, group, world.pick(idle))
    if len(group.members) >= 3:
        return None
    used = {each.line for each in group.members} | world.busy
    free = [number for number in range(3) if number not in used]
    return _join(world, group, Member(Symbol("M", 0), world.pick(free))) if free else None


def _join(world: World, group: Group, member: Member) -> Step:
    new = member not in group.members
    fields = _joining(group, "" if new else member.member, world)
    version = world.version("JoinGroup")
    kind = world.pick(["good"] * 9 + ["timeout", "type", "none", "stranger", "empty"])
    if kind == "timeout":
        fields["session_timeout_ms"] = world.pick([10, 10**9])
    elif kind == "type" and group.members:
        fields["protocol_type"] = "connect"
    elif kind == "none":
        fields["protocols"] = []
    elif kind == "stranger":
        fields["member_id"] = f"{world.ours}-stranger"
    elif kind == "empty":
        fields["group_id"] = ""
    step = Step("JoinGroup", version, fields, member.line, blocks=True)

    def learn(answer: dict[str, Any]) -> None:
        code = answer["error_code"]
        if isinstance(answer["member_id"], Symbol) and code in (0, 79):
            member.member = answer["member_id"]
            if new and member not in group.members:
                group.members.append(member)
        if code == 0:
            member.generation = answer["generation_id"]
            member.leads = answer["leader"] == answer["member_id"]
            member.others = [each["member_id"] for each in answer["members"]]

    step.learn = learn
    return step


@makes("SyncGroup", 3.0)
def sync(world: World) -> Step | None:
    found = _member(world)
    if found is None or found[1].line in world.busy:
        return None
    group, member = found
    assignments = (
        [{"member_id": each, "assignment": memoryview(b"a")} for each in member.others] if member.leads else []
    )
    fields: dict[str, Any] = {
        "group_id": group.name, "generation_id": member.generation + world.pick([0] * 8 + [1]),
        "member_id": member.member if world.chance(0.95) else f"{world.ours}-stranger", "assignments": assignments,
        "protocol_type": world.pick(["consumer"] * 8 + ["connect"]), "protocol_name": None,
    }  # fmt: skip
    if world.chance(0.05):
        fields["protocol_name"] = "other"
    return Step("SyncGroup", world.version("SyncGroup", 0, 4), fields, member.line, blocks=True)


@makes("Heartbeat", 2.0)
def heartbeat(world: World) -> Step | None:
    found = _member(world)
    if found is None:
        return None
    group, member = found
    fields = {
        "group_id": group.name if world.chance(0.95) else "",
        "generation_id": member.generation + world.pick([0] * 6 + [1, -1]),
        "member_id": member.member if world.chance(0.9) else f"{world.ours}-stranger",
    }
    return Step("Heartbeat", world.version("Heartbeat"), fields, world.line())


@makes("LeaveGroup", 1.0)
def leave(world: World) -> Step | None:
    found = _member(world)
    if found is None:
        return None
    group, member = found
    if member.leads and len(_others(world, group, member)) > 1:
        return None  # which of them leads then is nobody's promise: Kafka takes the first of a hash map
    version = world.version("LeaveGroup")
    who: Any = member.member if world.chance(0.8) else f"{world.ours}-stranger"
    fields = {"group_id": group.name, "member_id": who, "members": [{"member_id": who}]}
    step = Step("LeaveGroup", version, fields, world.line())

    def learn(answer: dict[str, Any]) -> None:
        codes = [answer["error_code"], *[each["error_code"] for each in answer.get("members", [])]]
        if not any(codes) and who == member.member and member in group.members:
            group.members.remove(member)

    step.learn = learn
    return step


@makes("OffsetCommit", 2.5)
def commit(world: World) -> Step | None:
    name, partition = world.some_topic(0.1)
    group = world.pick(world.groups)
    offset = world.pick([0, 1, 5, 10**12, -1])
    place = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_metadata": world.pick(["", "here", None, "x" * 5_000]),
    }
    fields: dict[str, Any] = {"group_id": group.name, "topics": [{"name": name, "partitions": [place]}]}
    if group.members and world.chance(0.8):
        member = world.pick(group.members)
        fields |= {
            "member_id": member.member,
            "generation_id_or_member_epoch": member.generation + world.pick([0] * 5 + [1]),
        }
    return Step("OffsetCommit", world.version("OffsetCommit", 2, 9), fields, world.line())


@makes("OffsetFetch", 2.0)
def fetch(world: World) -> Step | None:
    name, partition = world.some_topic(0.1)
    group = world.some_group()
    topics: Any = [{"name": name, "partition_indexes": [partition]}]
    version = world.version("OffsetFetch", 1, 9)
    if version >= 2 and world.chance(0.3):
        topics = None
    stable = world.chance(0.5)
    fields = {
        "group_id": group,
        "topics": topics,
        "groups": [{"group_id": group, "topics": topics}],
        "require_stable": stable,
    }
    return Step("OffsetFetch", version, fields, world.line())


@makes("OffsetDelete", 0.8)
def offset_delete(world: World) -> Step | None:
    name, partition = world.some_topic(0.1)
    group = world.some_group()
    topics = [{"name": name, "partitions": [{"partition_index": partition}]}]
    return Step("OffsetDelete", 0, {"group_id": group, "topics": topics}, world.line())


@makes("FindCoordinator", 1.0)
def coordinator(world: World) -> Step | None:
    kind = world.pick([0, 0, 0, 1, 1, 9])
    key = world.pick([world.groups[0].name, world.transactional_ids[0], ""])
    fields = {"key": key, "key_type": kind, "coordinator_keys": [key]}
    return Step("FindCoordinator", world.version("FindCoordinator", 0 if kind == 0 else 1, 5), fields, world.line())


@makes("DescribeGroups", 1.2)
def describe(world: World) -> Step | None:
    group = world.some_group("")
    return Step("DescribeGroups", world.version("DescribeGroups"), {"groups": [group]}, world.line())


@makes("ListGroups", 0.7)
def listing(world: World) -> Step | None:
    states = world.pick([[], [], ["Stable"], ["Empty", "PreparingRebalance"], ["stable"]])
    return Step(
        "ListGroups",
        world.version("ListGroups"),
        {"states_filter": states, "types_filter": world.pick([[], ["classic"], ["consumer"]])},
        world.line(),
    )


@makes("DeleteGroups", 0.8)
def delete(world: World) -> Step | None:
    group = world.some_group("")
    return Step("DeleteGroups", world.version("DeleteGroups", 0, 2), {"groups_names": [group]}, world.line())

"""Classic groups: members, static ones too, join, follow, leave, return; what is shown of the groups."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model, ModelGroup, ModelMember
from brokertrial.suites.explore.step import RequestStep, Symbol

SESSION_MS = 300_000
INSTANCES = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3}
"""The versions from which on a member may be static (KIP-345)."""


def _member(model: Model) -> tuple[ModelGroup, ModelMember] | None:
    groups = [group for group in model.groups if group.members]
    if not groups:
        return None
    group = model.pick(groups)
    return group, model.pick(group.members)


def _others(model: Model, group: ModelGroup, member: ModelMember) -> set[int]:
    """The connections of the other members, also of those whose JoinGroup is held back."""
    joining = {held for held, step in model.waiting.items() if step.fields.get("group_id") == group.name}
    return ({each.connection for each in group.members} | joining) - {member.connection}


def _joining(group: ModelGroup, member: Any, model: Model) -> dict[str, Any]:
    protocols = [
        {"name": name, "metadata": memoryview(b"m")}
        for name in model.pick([["range"], ["range", "rr"], ["rr", "range"]])
    ]
    return {
        "group_id": group.name, "member_id": member,
        "session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": SESSION_MS,
        "protocol_type": "consumer", "protocols": protocols,
    }  # fmt: skip


@rule("JoinGroup", 3.0)
def join(model: Model) -> RequestStep | None:
    """A new member, or one that joins again."""
    group = model.pick(model.groups)
    idle = [each for each in group.members if each.connection not in model.busy]
    if idle and model.chance(0.6):
        return _join(model, group, model.pick(idle))
    if len(group.members) >= 3:
        return None
    used = {each.connection for each in group.members} | model.busy
    free = [number for number in range(3) if number not in used]
    instance = model.pick([None, None, None, "i0", "i1"])
    return _join(model, group, ModelMember(Symbol("M", 0), model.pick(free), instance)) if free else None


def _join(model: Model, group: ModelGroup, member: ModelMember) -> RequestStep:
    new = member not in group.members
    fields = _joining(group, "" if new else member.member, model)
    version = model.version("JoinGroup")
    if member.instance is not None and version >= INSTANCES["JoinGroup"]:
        fields["group_instance_id"] = member.instance
        if model.chance(0.15):
            fields["member_id"] = ""  # as a static member that begins again
    kind = model.pick(["good"] * 9 + ["timeout", "type", "none", "stranger", "empty"])
    if kind == "timeout":
        fields["session_timeout_ms"] = model.pick([10, 10**9])
    elif kind == "type" and group.members:
        fields["protocol_type"] = "connect"
    elif kind == "none":
        fields["protocols"] = []
    elif kind == "stranger":
        fields["member_id"] = f"{model.prefix}-stranger"
    elif kind == "empty":
        fields["group_id"] = ""
    step = RequestStep("JoinGroup", version, fields, member.connection, blocks=True)

    def learn(answer: dict[str, Any]) -> None:
        code = answer["error_code"]
        if isinstance(answer["member_id"], Symbol) and code in (0, 79):
            member.member = answer["member_id"]
            if "group_instance_id" not in fields:
                member.instance = None
            elif code == 0:  # whoever had this instance is fenced
                group.members = [each for each in group.members if each.instance != member.instance]
            if member not in group.members:
                group.members.append(member)
        if code == 0:
            member.generation = answer["generation_id"]
            member.leads = answer["leader"] == answer["member_id"]
            member.others = [each["member_id"] for each in answer["members"]]

    step.learn = learn
    return step


def _static(model: Model, fields: dict[str, Any], member: ModelMember, version: int, api: str) -> dict[str, Any]:
    """With the instance of a static member; at times with that of another."""
    instance = member.instance if not model.chance(0.05) else "i9"
    return fields | {"group_instance_id": instance} if instance and version >= INSTANCES[api] else fields


@rule("SyncGroup", 3.0)
def sync(model: Model) -> RequestStep | None:
    found = _member(model)
    if found is None or found[1].connection in model.busy:
        return None
    group, member = found
    assignments = (
        [{"member_id": each, "assignment": memoryview(b"a")} for each in member.others] if member.leads else []
    )
    fields: dict[str, Any] = {
        "group_id": group.name, "generation_id": member.generation + model.pick([0] * 8 + [1]),
        "member_id": member.member if model.chance(0.95) else f"{model.prefix}-stranger", "assignments": assignments,
        "protocol_type": model.pick(["consumer"] * 8 + ["connect"]), "protocol_name": None,
    }  # fmt: skip
    if model.chance(0.05):
        fields["protocol_name"] = "other"
    version = model.version("SyncGroup")
    return RequestStep(
        "SyncGroup", version, _static(model, fields, member, version, "SyncGroup"), member.connection, blocks=True
    )


@rule("Heartbeat", 2.0)
def heartbeat(model: Model) -> RequestStep | None:
    found = _member(model)
    if found is None:
        return None
    group, member = found
    fields = {
        "group_id": group.name if model.chance(0.95) else "",
        "generation_id": member.generation + model.pick([0] * 6 + [1, -1]),
        "member_id": member.member if model.chance(0.9) else f"{model.prefix}-stranger",
    }
    version = model.version("Heartbeat")
    return RequestStep("Heartbeat", version, _static(model, fields, member, version, "Heartbeat"), model.connection())


@rule("LeaveGroup", 1.0)
def leave(model: Model) -> RequestStep | None:
    found = _member(model)
    if found is None:
        return None
    group, member = found
    if member.leads and len(_others(model, group, member)) > 1:
        return None  # which of them leads then is nobody's promise: Kafka takes the first of a hash map
    version = model.version("LeaveGroup")
    who: Any = member.member if model.chance(0.8) else f"{model.prefix}-stranger"
    leaving: list[dict[str, Any]] = [{"member_id": who}]
    if member.instance is not None and version >= INSTANCES["LeaveGroup"]:
        leaving = [{"member_id": model.pick([who, ""]), "group_instance_id": member.instance}]
    if version >= INSTANCES["LeaveGroup"] and model.chance(0.2):
        leaving.append({"member_id": f"{model.prefix}-stranger"})
    fields = {"group_id": group.name, "member_id": who, "members": leaving}
    step = RequestStep("LeaveGroup", version, fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        codes = [each["error_code"] for each in answer.get("members", [])] or [answer["error_code"]]
        own = who == member.member or (member.instance and version >= INSTANCES["LeaveGroup"])
        if own and not answer["error_code"] and 0 in codes and member in group.members:
            group.members.remove(member)

    step.learn = learn
    return step


@rule("FindCoordinator", 1.0)
def coordinator(model: Model) -> RequestStep | None:
    kind = model.pick([0, 0, 0, 1, 1, 9])
    known = [model.groups[0].name, model.transactional_ids[0], model.groups[1].name, ""]
    keys = [model.pick(known) for _ in range(model.pick([1, 1, 2]))]
    fields = {"key": keys[0], "key_type": kind, "coordinator_keys": sorted(set(keys))}
    return RequestStep(
        "FindCoordinator", model.version("FindCoordinator", 0 if kind == 0 else 1, 5), fields, model.connection()
    )


@rule("DescribeGroups", 1.2)
def describe(model: Model) -> RequestStep | None:
    groups = sorted({model.some_group("") for _ in range(model.pick([1, 1, 2]))})
    fields = {"groups": groups, "include_authorized_operations": model.chance(0.2)}
    return RequestStep("DescribeGroups", model.version("DescribeGroups"), fields, model.connection())


@rule("ListGroups", 0.7)
def listing(model: Model) -> RequestStep | None:
    states = model.pick([[], [], ["Stable"], ["Empty", "PreparingRebalance"], ["stable"]])
    return RequestStep(
        "ListGroups",
        model.version("ListGroups"),
        {"states_filter": states, "types_filter": model.pick([[], ["classic"], ["consumer"]])},
        model.connection(),
    )


@rule("DeleteGroups", 0.8)
def delete(model: Model) -> RequestStep | None:
    groups = sorted({model.some_group("") for _ in range(model.pick([1, 1, 2]))})
    return RequestStep(
        "DeleteGroups", model.version("DeleteGroups", 0, 2), {"groups_names": groups}, model.connection()
    )

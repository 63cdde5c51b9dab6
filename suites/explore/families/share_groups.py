"""Share groups (KIP-932): members join, stay, change their minds, leave; where the group stands in each partition.

As of KIP-848 groups, a group is settled after every heartbeat that did something; which member gets which partition is
the assignor's choice.
"""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.cleaning import GROUP_RESOURCE, SHARE_RESET
from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.share_model import ModelShareMember
from brokertrial.suites.explore.step import RequestStep, StepMemberState, Visible

SET = 0
MOST = 2


def _beat(model: Model, fields: dict[str, Any], connection: int | None = None) -> RequestStep:
    group = {"group_id": model.shares.name, "subscribed_topic_names": None}
    chosen = model.connection() if connection is None else connection
    return RequestStep("ShareGroupHeartbeat", model.version("ShareGroupHeartbeat"), group | fields, chosen)


def _settled(model: Model) -> Visible:
    group = model.shares
    names = {name for member in group.members for name in member.names}
    group.settled = {topic.name: topic.partitions for topic in model.topics if topic.alive and topic.name in names}
    members = tuple(member.member for member in group.members)
    return Visible("sharers", group.name, (members, sum(group.settled.values())))


def _wishes(model: Model) -> frozenset[str]:
    names = [topic.name for topic in model.topics if topic.alive] or [f"{model.prefix}-none"]
    return frozenset(model.sample(names, model.between(1, len(names))))


@rule("IncrementalAlterConfigs", 0.8)
def begin_at(model: Model) -> RequestStep | None:
    """Where the group begins to read, set before it does; at times to what there is not."""
    group, topic = model.shares, model.topic()
    if not model.offers("ShareFetch") or topic is None or group.reset is not None or group.warm or group.members:
        return None
    value = model.pick(["earliest"] * 6 + ["latest", "by_duration:PT1H", "never", "by_duration:x", "", "EARLIEST"])
    change = {"name": SHARE_RESET, "config_operation": SET, "value": value}
    resources = [{"resource_type": GROUP_RESOURCE, "resource_name": group.name, "configs": [change]}]
    step = RequestStep("IncrementalAlterConfigs", model.version("IncrementalAlterConfigs"), {"resources": resources})

    def learn(answer: dict[str, Any]) -> None:
        if not answer["responses"][0]["error_code"]:
            group.reset = value
            model.changes += 1
            step.until.append(Visible("applied", topic.name, model.changes))

    step.learn = learn
    return step


@rule("ShareGroupHeartbeat", 2.0)
def join(model: Model) -> RequestStep | None:
    group = model.shares
    if len(group.members) >= MOST or model.topic() is None:
        return None
    used = {member.connection for member in group.members}
    connection = next(number for number in range(MOST) if number not in used)
    member = ModelShareMember(group.new_member_id(), connection, _wishes(model))
    fields = {"member_id": member.member, "member_epoch": 0, "subscribed_topic_names": sorted(member.names)}
    step = _beat(model, fields, connection)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            group.members.append(member)
            step.until.append(_settled(model))

    step.learn = learn
    return step


@rule("ShareGroupHeartbeat", 0.6)
def misshapen(model: Model) -> RequestStep | None:
    """A heartbeat that lacks something, or is for a group that is not there or is of another kind."""
    fields: dict[str, Any] = {
        "member_id": model.shares.name[-8:] + "-odd", "member_epoch": 0,
        "subscribed_topic_names": sorted(_wishes(model)),
    }  # fmt: skip
    wrong: list[dict[str, Any]] = [
        {"group_id": ""}, {"group_id": " "}, {"member_id": ""}, {"member_id": "x" * 40}, {"rack_id": ""},
        {"subscribed_topic_names": None}, {"subscribed_topic_names": []}, {"member_epoch": -2}, {"member_epoch": -7},
        {"member_epoch": 5}, {"member_epoch": -1}, {"member_epoch": -1, "group_id": f"{model.prefix}-nobody"},
        {"member_epoch": 7, "group_id": f"{model.prefix}-nobody"}, {"member_epoch": 3, "member_id": ""},
    ]  # fmt: skip
    if model.groups[0].members:
        wrong.append({"group_id": model.groups[0].name})
    if model.consumers.members:
        wrong.append({"group_id": model.consumers.name})
    chosen = model.pick(wrong)
    empty_wish = chosen.get("subscribed_topic_names", True) == []
    return None if empty_wish else _beat(model, fields | chosen)


@rule("ShareGroupHeartbeat", 2.0)
def stay(model: Model) -> RequestStep | None:
    """A member that is there: shows that it lives, wants something else, or errs in its epoch or its name."""
    group = model.shares
    if not group.members:
        return None
    member = model.pick(group.members)
    kind = model.pick(["alive"] * 3 + ["names", "names", "future", "stranger"])
    who = member.member if kind != "stranger" else f"{model.prefix}-stranger"
    plus = 5 if kind == "future" else 0
    fields: dict[str, Any] = {
        "member_id": who,
        "member_epoch": StepMemberState("epoch", group.name, member.member, plus),
    }
    wishes = _wishes(model) if kind == "names" else member.names
    if kind == "names":
        fields["subscribed_topic_names"] = sorted(wishes)
    step = _beat(model, fields, member.connection)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            member.names = wishes
            step.until.append(_settled(model))

    step.learn = learn
    return step


@rule("ShareGroupHeartbeat", 0.7)
def leave(model: Model) -> RequestStep | None:
    """Only who holds no records: when those that a member leaves behind are free again is the broker's affair."""
    group = model.shares
    if not group.members:
        return None
    member = model.pick(group.members)
    if member.held:
        return None
    who = member.member if model.chance(0.8) else f"{model.prefix}-stranger"
    step = _beat(model, {"member_id": who, "member_epoch": -1}, member.connection)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            group.members.remove(member)
            step.until.append(_settled(model))

    step.learn = learn
    return step


@rule("ShareGroupDescribe", 1.2)
def describe(model: Model) -> RequestStep | None:
    others = [[model.consumers.name], [model.groups[0].name], [f"{model.prefix}-nobody"], [""]]
    groups = model.pick([[model.shares.name]] * 5 + others)
    fields = {"group_ids": groups, "include_authorized_operations": model.chance(0.2)}
    return RequestStep("ShareGroupDescribe", model.version("ShareGroupDescribe"), fields, model.connection())


@rule("DescribeShareGroupOffsets", 1.5)
def offsets(model: Model) -> RequestStep | None:
    """Of some partitions; of all, where the group has had time to see each of them.

    Not of a partition that its topic lacks: Kafka 4.3 and 4.4 answer that after half a minute.
    """
    alive = {topic.name: topic.partitions for topic in model.topics if topic.alive}
    known = {name: alive.get(name) for name in model.shares.settled}
    whole = known == model.shares.settled and all(topic.alive for topic in model.topics)
    places = model.some_partitions(0.15)
    topics = [{"topic_name": name, "partitions": indexes} for name, indexes in places.items()]
    counts = {name: alive.get(name, 0) for name in places}
    if any(index >= counts[name] > 0 for name, indexes in places.items() for index in indexes):
        return None
    name = model.pick([model.shares.name] * 6 + [model.consumers.name, f"{model.prefix}-nobody", ""])
    groups = [{"group_id": name, "topics": None if whole and name and model.chance(0.4) else topics}]
    if model.chance(0.1):
        groups.append({"group_id": f"{model.prefix}-nobody", "topics": topics})
    version = model.version("DescribeShareGroupOffsets")
    return RequestStep("DescribeShareGroupOffsets", version, {"groups": groups}, model.connection())


@rule("AlterShareGroupOffsets", 0.8)
def alter_offsets(model: Model) -> RequestStep | None:
    """While the group has members: refused; while it has none, only before anything was fetched.

    Not of a partition below zero: Kafka 4.3 and 4.4 refuse it, and keep it; such a group is never given a partition.
    """
    group, places = model.shares, model.some_partitions(0.15)
    if (not group.members and group.warm) or any(index < 0 for indexes in places.values() for index in indexes):
        return None
    topics = [
        {
            "topic_name": name,
            "partitions": [{"partition_index": index, "start_offset": model.pick([0, 1, 3, 99])} for index in indexes],
        }
        for name, indexes in places.items()
    ]
    name = model.pick([group.name] * 6 + [model.consumers.name, f"{model.prefix}-nobody", ""])
    fields = {"group_id": name, "topics": topics}
    return RequestStep("AlterShareGroupOffsets", model.version("AlterShareGroupOffsets"), fields, model.connection())


@rule("DeleteShareGroupOffsets", 0.5)
def delete_offsets(model: Model) -> RequestStep | None:
    group = model.shares
    if not group.members and group.warm:
        return None
    topics = [{"topic_name": name} for name in model.some_partitions(0.15)]
    name = model.pick([group.name] * 6 + [model.consumers.name, f"{model.prefix}-nobody", ""])
    fields = {"group_id": name, "topics": topics}
    return RequestStep("DeleteShareGroupOffsets", model.version("DeleteShareGroupOffsets"), fields, model.connection())

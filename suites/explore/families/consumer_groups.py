"""KIP-848 groups: members join, stay, change their minds, leave; their offsets; what is told of the group.

A broker takes its own time to hand partitions round, so after every heartbeat that did something the group is settled
(settling.py) before anything else is asked; what each member got is told by ConsumerGroupDescribe, in sum.
"""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model, ModelConsumerMember
from brokertrial.suites.explore.step import RequestStep, StepMemberState, Visible

TIMEOUT_MS = 300_000
WITH_PATTERNS, WITH_EPOCHS = 1, 9


def _beat(model: Model, fields: dict[str, Any], version: int | None = None) -> RequestStep:
    group = {"group_id": model.consumers.name, "topic_partitions": None, "subscribed_topic_names": None}
    chosen = model.version("ConsumerGroupHeartbeat") if version is None else version
    return RequestStep("ConsumerGroupHeartbeat", chosen, group | fields, model.connection())


def _settled(model: Model) -> Visible:
    members = model.consumers.members
    names = {topic.name for topic in model.topics if topic.alive and any(m.wants(topic.name) for m in members)}
    count = sum(topic.partitions for topic in model.topics if topic.alive and topic.name in names)
    return Visible("consumers", model.consumers.name, (tuple((m.member, m.instance) for m in members), count))


def _wishes(model: Model) -> frozenset[str]:
    names = [topic.name for topic in model.topics if topic.alive] or [f"{model.prefix}-none"]
    return frozenset(model.sample(names, model.between(1, len(names))))


@rule("ConsumerGroupHeartbeat", 2.0)
def join(model: Model) -> RequestStep | None:
    """A new member, at times static, at times with a pattern; in v0 the broker names it."""
    group = model.consumers
    if len(group.members) >= 3 or model.topic() is None:
        return None
    group.joined += 1
    version = model.version("ConsumerGroupHeartbeat")
    member = ModelConsumerMember(f"{model.prefix}-m{group.joined}", names=_wishes(model))
    fields: dict[str, Any] = {
        "member_id": "" if version == 0 and model.chance(0.5) else member.member,
        "member_epoch": 0, "rebalance_timeout_ms": TIMEOUT_MS, "topic_partitions": [],
        "server_assignor": model.pick([None, group.assignor]),
    }  # fmt: skip
    if model.chance(0.25):
        member.instance = fields["instance_id"] = f"i{model.below(3)}"
    if version >= WITH_PATTERNS and model.chance(0.1):
        member.names, member.pattern = frozenset(), True
        fields["subscribed_topic_regex"] = f"{model.prefix}-t.*"
    else:
        fields["subscribed_topic_names"] = sorted(member.names)
    step = _beat(model, fields, version)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            member.member = answer["member_id"]
            group.members.append(member)
            step.until.append(_settled(model))

    step.learn = learn
    return step


@rule("ConsumerGroupHeartbeat", 0.8)
def misshapen(model: Model) -> RequestStep | None:
    """A first heartbeat that lacks something, or has too much of it."""
    name = next(iter(sorted(_wishes(model))))
    topic = model.named(name)
    fields: dict[str, Any] = {
        "member_id": f"{model.prefix}-odd", "member_epoch": 0, "rebalance_timeout_ms": TIMEOUT_MS,
        "topic_partitions": [], "subscribed_topic_names": [name],
    }  # fmt: skip
    wrong: list[dict[str, Any]] = [
        {"group_id": ""}, {"group_id": " "}, {"instance_id": ""}, {"rack_id": ""}, {"rebalance_timeout_ms": -1},
        {"topic_partitions": None}, {"subscribed_topic_names": None}, {"server_assignor": "nobodys"},
        {"member_epoch": -2}, {"member_epoch": -3}, {"member_epoch": 5, "member_id": ""},
        {"subscribed_topic_names": None, "subscribed_topic_regex": "[a"},
        {"member_epoch": -1, "group_id": f"{model.prefix}-nobody"},
        {"member_epoch": 7, "group_id": f"{model.prefix}-nobody"},
    ]  # fmt: skip
    if topic is not None and topic.topic_id is not None:
        wrong.append({"topic_partitions": [{"topic_id": topic.topic_id, "partitions": [0]}]})
    return _beat(model, fields | model.pick(wrong), WITH_PATTERNS)


@rule("ConsumerGroupHeartbeat", 3.0)
def stay(model: Model) -> RequestStep | None:
    """A member that is there: shows that it lives, says all there is, wants something else, or errs in its epoch."""
    group = model.consumers
    if not group.members:
        return None
    member = model.pick(group.members)
    fields: dict[str, Any] = {
        "member_id": member.member,
        "instance_id": member.instance,
        "member_epoch": StepMemberState("epoch", group.name, member.member),
    }
    kind = model.pick(["alive"] * 4 + ["owned", "all", "names", "future", "stranger", "instance"])
    wishes = member.names
    if kind in ("owned", "all"):
        fields["topic_partitions"] = StepMemberState("owned", group.name, member.member)
    if kind == "all":
        fields |= {"rebalance_timeout_ms": TIMEOUT_MS, "subscribed_topic_names": sorted(wishes)}
    elif kind == "names":
        wishes = _wishes(model)
        fields["subscribed_topic_names"] = sorted(wishes)
    elif kind == "future":
        fields["member_epoch"] = StepMemberState("epoch", group.name, member.member, plus=5)
    elif kind == "stranger":
        fields["member_id"] = f"{model.prefix}-stranger"
    elif kind == "instance":
        fields["instance_id"] = model.pick(["i0", "i9"])
    step = _beat(model, fields)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            member.names, member.instance = wishes, fields["instance_id"]
            step.until.append(_settled(model))

    step.learn = learn
    return step


@rule("ConsumerGroupHeartbeat", 0.8)
def leave(model: Model) -> RequestStep | None:
    group = model.consumers
    if not group.members:
        return None
    member = model.pick(group.members)
    who = member.member if model.chance(0.8) else f"{model.prefix}-stranger"
    fields = {"member_id": who, "instance_id": member.instance, "member_epoch": -1}
    step = _beat(model, fields)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            group.members.remove(member)
            step.until.append(_settled(model))

    step.learn = learn
    return step


@rule("ConsumerGroupDescribe", 1.5)
def describe(model: Model) -> RequestStep | None:
    groups = model.pick([[model.consumers.name]] * 4 + [[model.groups[0].name], [f"{model.prefix}-nobody"], [""]])
    fields = {"group_ids": groups, "include_authorized_operations": model.chance(0.2)}
    return RequestStep("ConsumerGroupDescribe", model.version("ConsumerGroupDescribe"), fields, model.connection())


def _member(model: Model) -> dict[str, Any]:
    """Whom a request about offsets is from: at times nobody, somebody else, or a member of another epoch."""
    group = model.consumers
    if not group.members or model.chance(0.15):
        return {"member_id": "", "epoch": -1}
    member = model.pick(group.members).member
    epoch = StepMemberState("epoch", group.name, member, plus=model.pick([0] * 5 + [3]))
    return {"member_id": member if model.chance(0.9) else f"{model.prefix}-stranger", "epoch": epoch}


@rule("OffsetCommit", 1.5)
def commit(model: Model) -> RequestStep | None:
    name, partition = model.some_partition(0.1)
    who = _member(model)
    place = {"partition_index": partition, "committed_offset": model.between(0, 9), "committed_metadata": ""}
    fields = {
        "group_id": model.consumers.name,
        "member_id": who["member_id"],
        "generation_id_or_member_epoch": who["epoch"],
        "topics": [{"name": name, "partitions": [place]}],
    }
    low = WITH_EPOCHS if model.chance(0.8) else 2
    return RequestStep("OffsetCommit", model.version("OffsetCommit", low, WITH_EPOCHS), fields, model.connection())


@rule("OffsetFetch", 1.0)
def fetch(model: Model) -> RequestStep | None:
    name, partition = model.some_partition(0.1)
    who = _member(model)
    topics = [{"name": name, "partition_indexes": [partition]}] if model.chance(0.8) else None
    group = {
        "group_id": model.consumers.name, "topics": topics,
        "member_id": who["member_id"] or None, "member_epoch": who["epoch"],
    }  # fmt: skip
    fields = {"groups": [group], "require_stable": model.chance(0.5)}
    return RequestStep(
        "OffsetFetch", model.version("OffsetFetch", WITH_EPOCHS, WITH_EPOCHS), fields, model.connection()
    )

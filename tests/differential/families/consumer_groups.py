"""KIP-848 groups: members join, stay, change their minds, leave; their offsets; what is told of the group.

A broker takes its own time to hand partitions round, so after every heartbeat that did something the group is settled
(settling.py) before anything else is asked; what each member got is told by ConsumerGroupDescribe, in sum.
"""

from __future__ import annotations

from typing import Any

from tests.differential.families import makes
from tests.differential.step import Kept, Settled, Step
from tests.differential.world import ConsumerMember, World

TIMEOUT_MS = 300_000
WITH_PATTERNS, WITH_EPOCHS = 1, 9


def _beat(world: World, fields: dict[str, Any], version: int | None = None) -> Step:
    group = {"group_id": world.consumers.name, "topic_partitions": None, "subscribed_topic_names": None}
    chosen = world.version("ConsumerGroupHeartbeat") if version is None else version
    return Step("ConsumerGroupHeartbeat", chosen, group | fields, world.line())


def _settled(world: World) -> Settled:
    members = world.consumers.members
    names = {topic.name for topic in world.topics if topic.alive and any(m.wants(topic.name) for m in members)}
    count = sum(topic.partitions for topic in world.topics if topic.alive and topic.name in names)
    return Settled("consumers", world.consumers.name, (tuple((m.member, m.instance) for m in members), count))


def _wishes(world: World) -> frozenset[str]:
    names = [topic.name for topic in world.topics if topic.alive] or [f"{world.ours}-none"]
    return frozenset(world.rng.sample(names, world.rng.randint(1, len(names))))


@makes("ConsumerGroupHeartbeat", 2.0)
def join(world: World) -> Step | None:
    """A new member, at times static, at times with a pattern; in v0 the broker names it."""
    group = world.consumers
    if len(group.members) >= 3 or world.topic() is None:
        return None
    group.joined += 1
    version = world.version("ConsumerGroupHeartbeat")
    member = ConsumerMember(f"{world.ours}-m{group.joined}", names=_wishes(world))
    fields: dict[str, Any] = {
        "member_id": "" if version == 0 and world.chance(0.5) else member.member,
        "member_epoch": 0, "rebalance_timeout_ms": TIMEOUT_MS, "topic_partitions": [],
        "server_assignor": world.pick([None, group.assignor]),
    }  # fmt: skip
    if world.chance(0.25):
        member.instance = fields["instance_id"] = f"i{world.rng.randrange(3)}"
    if version >= WITH_PATTERNS and world.chance(0.1):
        member.names, member.pattern = frozenset(), True
        fields["subscribed_topic_regex"] = f"{world.ours}-t.*"
    else:
        fields["subscribed_topic_names"] = sorted(member.names)
    step = _beat(world, fields, version)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            member.member = answer["member_id"]
            group.members.append(member)
            step.settle.append(_settled(world))

    step.learn = learn
    return step


@makes("ConsumerGroupHeartbeat", 0.8)
def misshapen(world: World) -> Step | None:
    """A first heartbeat that lacks something, or has too much of it."""
    name = next(iter(sorted(_wishes(world))))
    topic = world.named(name)
    fields: dict[str, Any] = {
        "member_id": f"{world.ours}-odd", "member_epoch": 0, "rebalance_timeout_ms": TIMEOUT_MS,
        "topic_partitions": [], "subscribed_topic_names": [name],
    }  # fmt: skip
    wrong: list[dict[str, Any]] = [
        {"group_id": ""}, {"group_id": " "}, {"instance_id": ""}, {"rack_id": ""}, {"rebalance_timeout_ms": -1},
        {"topic_partitions": None}, {"subscribed_topic_names": None}, {"server_assignor": "nobodys"},
        {"member_epoch": -2}, {"member_epoch": -3}, {"member_epoch": 5, "member_id": ""},
        {"subscribed_topic_names": None, "subscribed_topic_regex": "[a"},
        {"member_epoch": -1, "group_id": f"{world.ours}-nobody"},
        {"member_epoch": 7, "group_id": f"{world.ours}-nobody"},
    ]  # fmt: skip
    if topic is not None and topic.topic_id is not None:
        wrong.append({"topic_partitions": [{"topic_id": topic.topic_id, "partitions": [0]}]})
    return _beat(world, fields | world.pick(wrong), WITH_PATTERNS)


@makes("ConsumerGroupHeartbeat", 3.0)
def stay(world: World) -> Step | None:
    """A member that is there: shows that it lives, says all there is, wants something else, or errs in its epoch."""
    group = world.consumers
    if not group.members:
        return None
    member = world.pick(group.members)
    fields: dict[str, Any] = {
        "member_id": member.member,
        "instance_id": member.instance,
        "member_epoch": Kept("epoch", group.name, member.member),
    }
    kind = world.pick(["alive"] * 4 + ["owned", "all", "names", "future", "stranger", "instance"])
    wishes = member.names
    if kind in ("owned", "all"):
        fields["topic_partitions"] = Kept("owned", group.name, member.member)
    if kind == "all":
        fields |= {"rebalance_timeout_ms": TIMEOUT_MS, "subscribed_topic_names": sorted(wishes)}
    elif kind == "names":
        wishes = _wishes(world)
        fields["subscribed_topic_names"] = sorted(wishes)
    elif kind == "future":
        fields["member_epoch"] = Kept("epoch", group.name, member.member, plus=5)
    elif kind == "stranger":
        fields["member_id"] = f"{world.ours}-stranger"
    elif kind == "instance":
        fields["instance_id"] = world.pick(["i0", "i9"])
    step = _beat(world, fields)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            member.names, member.instance = wishes, fields["instance_id"]
            step.settle.append(_settled(world))

    step.learn = learn
    return step


@makes("ConsumerGroupHeartbeat", 0.8)
def leave(world: World) -> Step | None:
    group = world.consumers
    if not group.members:
        return None
    member = world.pick(group.members)
    who = member.member if world.chance(0.8) else f"{world.ours}-stranger"
    fields = {"member_id": who, "instance_id": member.instance, "member_epoch": -1}
    step = _beat(world, fields)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            group.members.remove(member)
            step.settle.append(_settled(world))

    step.learn = learn
    return step


@makes("ConsumerGroupDescribe", 1.5)
def describe(world: World) -> Step | None:
    groups = world.pick([[world.consumers.name]] * 4 + [[world.groups[0].name], [f"{world.ours}-nobody"], [""]])
    fields = {"group_ids": groups, "include_authorized_operations": world.chance(0.2)}
    return Step("ConsumerGroupDescribe", world.version("ConsumerGroupDescribe"), fields, world.line())


def _member(world: World) -> dict[str, Any]:
    """Whom a request about offsets is from: at times nobody, somebody else, or a member of another epoch."""
    group = world.consumers
    if not group.members or world.chance(0.15):
        return {"member_id": "", "epoch": -1}
    member = world.pick(group.members).member
    epoch = Kept("epoch", group.name, member, plus=world.pick([0] * 5 + [3]))
    return {"member_id": member if world.chance(0.9) else f"{world.ours}-stranger", "epoch": epoch}


@makes("OffsetCommit", 1.5)
def commit(world: World) -> Step | None:
    name, partition = world.some_topic(0.1)
    who = _member(world)
    place = {"partition_index": partition, "committed_offset": world.rng.randint(0, 9), "committed_metadata": ""}
    fields = {
        "group_id": world.consumers.name,
        "member_id": who["member_id"],
        "generation_id_or_member_epoch": who["epoch"],
        "topics": [{"name": name, "partitions": [place]}],
    }
    low = WITH_EPOCHS if world.chance(0.8) else 2
    return Step("OffsetCommit", world.version("OffsetCommit", low, WITH_EPOCHS), fields, world.line())


@makes("OffsetFetch", 1.0)
def fetch(world: World) -> Step | None:
    name, partition = world.some_topic(0.1)
    who = _member(world)
    topics = [{"name": name, "partition_indexes": [partition]}] if world.chance(0.8) else None
    group = {
        "group_id": world.consumers.name, "topics": topics,
        "member_id": who["member_id"] or None, "member_epoch": who["epoch"],
    }  # fmt: skip
    fields = {"groups": [group], "require_stable": world.chance(0.5)}
    return Step("OffsetFetch", world.version("OffsetFetch", WITH_EPOCHS, WITH_EPOCHS), fields, world.line())

"""Streams groups (KIP-1071): members of small topologies join, stay, leave; other topologies, wrong epochs, bad shapes.

Topologies have no internal topics: when a broker has made those is its own affair. Which member gets which task is the
assignor's choice; a group is settled after every heartbeat that did something.
"""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep, StepMemberState, Visible
from brokertrial.suites.explore.streams_model import ModelTopology

TIMEOUT_MS = 300_000
MOST = 2


def _beat(model: Model, fields: dict[str, Any]) -> RequestStep:
    group = {"group_id": model.streams.name, "topology": None}
    return RequestStep(
        "StreamsGroupHeartbeat", model.version("StreamsGroupHeartbeat"), group | fields, model.connection()
    )


def _there(model: Model) -> dict[str, int]:
    """The source topics of the group's topology that there are."""
    wanted = model.streams.topology.topics if model.streams.topology else frozenset[str]()
    return {topic.name: topic.partitions for topic in model.topics if topic.alive and topic.name in wanted}


def _settled(model: Model) -> list[Visible]:
    group = model.streams
    if group.topology is None or group.unclear:
        return []
    group.settled = _there(model)
    return [Visible("streamers", group.name, (tuple(group.members), group.topology.tasks(group.settled)))]


def _usable(model: Model) -> bool:
    """Whether the group is as it was settled: a broker takes its time to see that topics have come or gone."""
    return not model.streams.unclear and _there(model) == model.streams.settled


def _topology(model: Model) -> ModelTopology:
    names = [topic.name for topic in model.topics if topic.alive]
    one, other = names[0], names[-1]
    if len(names) == 1 or one == other:
        return ModelTopology(model.pick([((one,),), ((one,),), ((f"{model.prefix}-none",),)]))
    shapes: list[tuple[tuple[str, ...], ...]] = [((one,),), ((one,), (other,)), ((one, other),), ((other,),)]
    return ModelTopology(model.pick(shapes), model.chance(0.3))


def _first(model: Model, member: str, topology: ModelTopology, epoch: int) -> dict[str, Any]:
    return {
        "member_id": member, "member_epoch": 0, "rebalance_timeout_ms": TIMEOUT_MS, "topology": topology.fields(epoch),
        "active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "process_id": f"p-{member}",
        "client_tags": model.pick([[], [], [{"key": "zone", "value": "a"}]]),
    }  # fmt: skip


@rule("StreamsGroupHeartbeat", 2.0)
def join(model: Model) -> RequestStep | None:
    """A new member, with the topology of the others; at times with one of its own, as of another epoch."""
    group = model.streams
    if len(group.members) >= MOST or model.topic() is None or (group.members and not _usable(model)):
        return None
    group.joined += 1
    member = f"{group.name}-m{group.joined}"
    same = group.topology is not None and (bool(group.members) or model.chance(0.5))
    topology = group.topology if same and group.topology else _topology(model)
    epoch = group.epoch
    odd = bool(group.members) and model.chance(0.2)
    if odd:
        topology, epoch = _topology(model), epoch + model.pick([0, 1, 3])
    odd = odd and (topology, epoch) != (group.topology, group.epoch)
    step = _beat(model, _first(model, member, topology, epoch))

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            group.members.append(member)
            group.unclear = group.unclear or odd or (group.topology not in (None, topology))
            group.topology, group.epoch = topology, epoch
            step.until += _settled(model)

    step.learn = learn
    return step


@rule("StreamsGroupHeartbeat", 0.8)
def misshapen(model: Model) -> RequestStep | None:
    """A first heartbeat that lacks something, or is of a group of another kind."""
    if model.topic() is None:
        return None
    fields = _first(model, f"{model.prefix}-odd", _topology(model), 0)
    task = [{"subtopology_id": "0", "partitions": [0]}]
    wrong: list[dict[str, Any]] = [
        {"group_id": ""}, {"group_id": " "}, {"member_id": ""}, {"rebalance_timeout_ms": -1}, {"process_id": None},
        {"process_id": ""}, {"topology": None}, {"active_tasks": None}, {"active_tasks": task}, {"standby_tasks": task},
        {"member_epoch": -3}, {"member_epoch": -7}, {"instance_id": ""}, {"rack_id": ""},
        {"member_epoch": -1, "group_id": f"{model.prefix}-nobody"}, {"user_endpoint": {"host": "", "port": 0}},
        {"member_epoch": 7, "group_id": f"{model.prefix}-nobody", "topology": None},
    ]  # fmt: skip
    if model.groups[0].members:
        wrong.append({"group_id": model.groups[0].name})
    if model.consumers.members:
        wrong.append({"group_id": model.consumers.name})
    chosen = model.pick(wrong)
    return _beat(model, {"group_id": f"{model.prefix}-z"} | fields | chosen)


@rule("StreamsGroupHeartbeat", 2.5)
def stay(model: Model) -> RequestStep | None:
    """A member that is there: shows that it lives, says all there is, or errs in its epoch, name or topology."""
    group = model.streams
    if not group.members or group.unclear:
        return None
    usable = _usable(model)
    member = model.pick(group.members)
    fields: dict[str, Any] = {"member_id": member, "member_epoch": StepMemberState("epoch", group.name, member)}
    kind = model.pick(["alive"] * 3 + ["owned", "owned", "future", "stranger", "topology"])
    if kind == "owned":
        tasks = StepMemberState("owned", group.name, member)
        fields |= {"active_tasks": tasks, "standby_tasks": [], "warmup_tasks": []}
    elif kind == "future":
        fields["member_epoch"] = StepMemberState("epoch", group.name, member, plus=5)
    elif kind == "stranger":
        fields["member_id"] = f"{model.prefix}-stranger"
    elif kind == "topology" and group.topology is not None:
        fields["topology"] = group.topology.fields(group.epoch)
    step = _beat(model, fields)

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            step.until += _settled(model)

    step.learn = learn
    return step if usable or kind in ("future", "stranger") else None


@rule("StreamsGroupHeartbeat", 0.7)
def leave(model: Model) -> RequestStep | None:
    group = model.streams
    if not group.members or group.unclear:
        return None
    member = model.pick(group.members)
    who = member if model.chance(0.8) else f"{model.prefix}-stranger"
    step = _beat(model, {"member_id": who, "member_epoch": model.pick([-1, -1, -1, -2])})

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"]:
            group.members.remove(member)
            step.until += _settled(model)

    step.learn = learn
    return step


@rule("StreamsGroupDescribe", 1.5)
def describe(model: Model) -> RequestStep | None:
    """Of the group while it is as it was settled, of one of another kind, of none."""
    others = [[model.consumers.name], [model.groups[0].name], [f"{model.prefix}-nobody"], [""]]
    groups = model.pick([[model.streams.name]] * 5 + others)
    if groups == [model.streams.name] and not _usable(model):
        return None
    fields = {
        "group_ids": groups, "include_authorized_operations": model.chance(0.2),
        "include_topology_description": model.chance(0.3),
    }  # fmt: skip
    return RequestStep("StreamsGroupDescribe", model.version("StreamsGroupDescribe"), fields, model.connection())

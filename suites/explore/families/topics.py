"""Topics: made, widened, deleted, made again under the same name, looked at."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.families.settings import SETTINGS
from brokertrial.suites.explore.model import Model, ModelTopic
from brokertrial.suites.explore.step import RequestStep, StepReplicas, Symbol, Visible

MOST = 4
_FIRST = StepReplicas("", -1)
"""On the first node of the cluster."""


@rule("CreateTopics", 2.0)
def create(model: Model) -> RequestStep | None:
    """One topic, or several, of which some may be refused; at times under the name of one that was deleted."""
    if len(model.topics) >= MOST:
        return None
    gone = [topic.name for topic in model.topics if not topic.alive and model.named(topic.name) is None]
    names = [f"{model.prefix}-t{len(model.topics) + number}" for number in range(2)]
    if gone and model.chance(0.5):
        names[0] = model.pick(gone)
    kind = model.pick(["good"] * 7 + ["dry", "twice", "none"])
    wanted = [_wanted(model, name) for name in names[: model.pick([1, 1, 1, 2])]]
    asked = {"twice": wanted * 2, "none": []}.get(kind, wanted)
    step = RequestStep(
        "CreateTopics",
        model.version("CreateTopics", 4),
        {"topics": asked, "validate_only": kind == "dry", "timeout_ms": 20_000},
    )

    def learn(answer: dict[str, Any]) -> None:
        for entry in answer["topics"]:
            made = next((each for each in wanted if each["name"] == entry["name"]), None)
            if made is None or entry["error_code"] or kind == "dry":
                continue
            count = len(made.get("assignments", ())) or made["num_partitions"]
            model.topics.append(ModelTopic(entry["name"], count, entry.get("topic_id")))
            step.until.append(Visible("topic", entry["name"], count))

    step.learn = learn
    return step


def _wanted(model: Model, name: str) -> dict[str, Any]:
    """A topic, at times with something wrong in it."""
    wanted: dict[str, Any] = {"name": name, "num_partitions": model.between(1, 3), "replication_factor": 1}
    match model.pick(["good"] * 7 + ["default", "count", "factor", "name", "again", "placed"] + ["setting"] * 3):
        case "default":
            wanted |= {"replication_factor": -1}
        case "count":
            wanted |= {"num_partitions": model.pick([0, -2])}
        case "factor":
            wanted |= {"replication_factor": model.pick([0, 2, 4])}
        case "name":
            wrong = ["", ".", "..", "a b", "x" * 250, f"{model.prefix}/t", name.replace("-", "."), "x" * 200 + name]
            wanted |= {"name": model.pick(wrong)}
        case "again" if old := model.topic():
            wanted |= {"name": old.name}
        case "setting":
            key = model.pick(list(SETTINGS))
            wanted |= {"configs": [{"name": key, "value": model.pick(SETTINGS[key])}]}
        case "placed":
            placed = [{"partition_index": n, "broker_ids": model.pick([_FIRST, _FIRST, [7]])} for n in range(2)]
            wanted |= {"num_partitions": -1, "replication_factor": -1, "assignments": placed}
    return wanted


@rule("DeleteTopics", 0.6)
def delete(model: Model) -> RequestStep | None:
    topic = model.topic()
    if topic is None or (len([each for each in model.topics if each.alive]) < 2 and model.chance(0.7)):
        return None
    version = model.version("DeleteTopics")
    name = topic.name if model.chance(0.6) else f"{model.prefix}-none"
    fields: dict[str, Any] = {"timeout_ms": 20_000, "topic_names": [name], "topics": [{"name": name}]}
    if version >= 6 and topic.topic_id is not None and name == topic.name and model.chance(0.4):
        fields["topics"] = [{"name": None, "topic_id": topic.topic_id}]
    step = RequestStep("DeleteTopics", version, fields)

    def learn(answer: dict[str, Any]) -> None:
        if answer["responses"] and not answer["responses"][0]["error_code"]:
            topic.alive = False
            for producer in model.producers:
                producer.forget(topic.name)
            step.until.append(Visible("gone", topic.name))
            groups = (model.consumers.name, *(group.name for group in model.groups))
            step.until.append(Visible("forgotten", topic.name, groups))

    step.learn = learn
    return step


@rule("CreatePartitions")
def widen(model: Model) -> RequestStep | None:
    topic = model.topic()
    name, now = (topic.name, topic.partitions) if topic else (f"{model.prefix}-none", 1)
    count = now + model.pick([1, 1, 1, 0, -1, -now - 1])
    wanted: dict[str, Any] = {"name": name, "count": count, "assignments": None}
    if model.chance(0.2):
        wanted["assignments"] = [{"broker_ids": model.pick([_FIRST, [9]])} for _ in range(model.pick([1, 2]))]
    dry = model.chance(0.2) or now > 6
    step = RequestStep(
        "CreatePartitions",
        model.version("CreatePartitions"),
        {"topics": [wanted], "timeout_ms": 20_000, "validate_only": dry},
    )

    def learn(answer: dict[str, Any]) -> None:
        if topic and not answer["results"][0]["error_code"] and not dry:
            topic.partitions = count
            step.until.append(Visible("topic", topic.name, count))

    step.learn = learn
    return step


@rule("Metadata")
def metadata(model: Model) -> RequestStep | None:
    version = model.version("Metadata", 1)
    topic = model.topic()
    name = topic.name if topic and model.chance(0.8) else f"{model.prefix}-none"
    wanted: dict[str, Any] = {"name": name}
    if version >= 12 and topic and topic.topic_id and model.chance(0.3):
        wanted = {"name": None, "topic_id": topic.topic_id}
    topics = [] if model.chance(0.1) else [wanted]
    fields = {
        "topics": topics,
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": model.chance(0.2),
    }
    if version < 4:
        fields["topics"] = [{"name": topic.name}] if topic else []
    step = RequestStep("Metadata", version, fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        for entry in answer["topics"]:
            shown = model.named(entry["name"] or "")
            if shown is not None and isinstance(entry.get("topic_id"), Symbol):
                shown.topic_id = entry["topic_id"]

    step.learn = learn
    return step


@rule("DescribeTopicPartitions", 0.7)
def describe_partitions(model: Model) -> RequestStep | None:
    name, _ = model.some_partition()
    fields: dict[str, Any] = {"topics": [{"name": name}], "response_partition_limit": model.pick([1, 2000, 0, -1])}
    if model.chance(0.3):
        fields["cursor"] = {"topic_name": name, "partition_index": model.pick([0, 1, -1])}
    return RequestStep("DescribeTopicPartitions", model.version("DescribeTopicPartitions"), fields, model.connection())


@rule("DescribeLogDirs", 0.5)
def log_dirs(model: Model) -> RequestStep | None:
    name, partition = model.some_partition()
    return RequestStep(
        "DescribeLogDirs",
        model.version("DescribeLogDirs", 3),
        {"topics": [{"topic": name, "partitions": [partition]}]},
        model.connection(),
    )

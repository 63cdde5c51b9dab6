"""Topics: made, looked at, widened, emptied, set, deleted."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model, Topic
from brokertrial.suites.explore.step import Step, Visible

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
SET, DELETE = 0, 1
SETTINGS = {
    "retention.ms": ["3600000", "-1", "many", "-2"],
    "max.message.bytes": ["2000", "1048588", "-1", "x"],
    "cleanup.policy": ["delete", "compact", "compact,delete", "shred"],
    "min.insync.replicas": ["1", "0", "2"],
    "message.timestamp.type": ["CreateTime", "LogAppendTime", "Sometime"],
    "compression.type": ["producer", "gzip", "brotli"],
    "segment.bytes": ["1048576", "1"],
    "no.such.setting": ["1"],
}


@rule("CreateTopics", 2.0)
def create(model: Model) -> Step | None:
    if len(model.topics) >= 4:
        return None
    name = f"{model.prefix}-t{len(model.topics)}"
    wanted: dict[str, Any] = {"name": name, "num_partitions": model.between(1, 3), "replication_factor": 1}
    kind = model.pick(
        ["good"] * 5 + ["default", "count", "factor", "name", "again", "setting", "dry", "placed", "twice"]
    )
    if kind == "default":
        wanted |= {"replication_factor": -1}
    elif kind == "count":
        wanted |= {"num_partitions": model.pick([0, -2])}
    elif kind == "factor":
        wanted |= {"replication_factor": model.pick([0, 2, 4])}
    elif kind == "name":
        wanted |= {"name": model.pick(["", ".", "..", "a b", "x" * 250, f"{model.prefix}/t"])}
    elif kind == "again" and (old := model.topic()):
        wanted |= {"name": old.name}
    elif kind == "setting":
        key = model.pick(list(SETTINGS))
        wanted |= {"configs": [{"name": key, "value": model.pick(SETTINGS[key])}]}
    elif kind == "placed":
        placed = [{"partition_index": n, "broker_ids": [model.pick([1, 1, 7])]} for n in range(2)]
        wanted |= {"num_partitions": -1, "replication_factor": -1, "assignments": placed}
    dry = kind == "dry"
    asked = [wanted, wanted] if kind == "twice" else [wanted]
    step = Step(
        "CreateTopics", model.version("CreateTopics", 4), {"topics": asked, "validate_only": dry, "timeout_ms": 20_000}
    )

    def learn(answer: dict[str, Any]) -> None:
        (entry,) = answer["topics"]
        if not entry["error_code"] and not dry:
            count = 2 if kind == "placed" else wanted["num_partitions"]
            model.topics.append(Topic(entry["name"], count, entry.get("topic_id")))
            step.until.append(Visible("topic", entry["name"], count))

    step.learn = learn
    return step


@rule("DeleteTopics", 0.6)
def delete(model: Model) -> Step | None:
    topic = model.topic()
    if topic is None or (len([each for each in model.topics if each.alive]) < 2 and model.chance(0.7)):
        return None
    version = model.version("DeleteTopics")
    name = topic.name if model.chance(0.6) else f"{model.prefix}-none"
    fields: dict[str, Any] = {"timeout_ms": 20_000, "topic_names": [name], "topics": [{"name": name}]}
    if version >= 6 and topic.topic_id is not None and name == topic.name and model.chance(0.4):
        fields["topics"] = [{"name": None, "topic_id": topic.topic_id}]
    step = Step("DeleteTopics", version, fields)

    def learn(answer: dict[str, Any]) -> None:
        if answer["responses"] and not answer["responses"][0]["error_code"]:
            topic.alive = False
            step.until.append(Visible("gone", topic.name))
            groups = (model.consumers.name, *(group.name for group in model.groups))
            step.until.append(Visible("forgotten", topic.name, groups))

    step.learn = learn
    return step


@rule("CreatePartitions")
def widen(model: Model) -> Step | None:
    topic = model.topic()
    name, now = (topic.name, topic.partitions) if topic else (f"{model.prefix}-none", 1)
    count = now + model.pick([1, 1, 1, 0, -1, -now - 1])
    wanted: dict[str, Any] = {"name": name, "count": count, "assignments": None}
    if model.chance(0.2):
        wanted["assignments"] = [{"broker_ids": [model.pick([1, 9])]} for _ in range(model.pick([1, 2]))]
    dry = model.chance(0.2) or now > 6
    step = Step(
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


@rule("DeleteRecords", 1.2)
def delete_records(model: Model) -> Step | None:
    name, partition = model.some_partition()
    offset = model.pick([0, 1, 2, -1, -2, 99_999])
    topics = [{"name": name, "partitions": [{"partition_index": partition, "offset": offset}]}]
    return Step(
        "DeleteRecords", model.version("DeleteRecords"), {"topics": topics, "timeout_ms": 20_000}, model.connection()
    )


def _altered(model: Model) -> tuple[str, str, str | None]:
    topic = model.topic()
    name = topic.name if topic and model.chance(0.9) else f"{model.prefix}-none"
    key = model.pick(list(SETTINGS))
    value = model.pick([SETTINGS[key][0]] * 3 + SETTINGS[key])
    return name, key, value


def _in_force(model: Model, name: str, key: str, operation: int, value: str | None) -> list[Visible]:
    model.changes += 1
    return [Visible("setting", name, (key, operation, value)), Visible("applied", name, model.changes)]


@rule("IncrementalAlterConfigs")
def alter(model: Model) -> Step | None:
    name, key, value = _altered(model)
    operation = model.pick([0, 0, 0, 1, 2, 3])
    change = {"name": key, "config_operation": operation, "value": value}
    resources = [{"resource_type": TOPIC_RESOURCE, "resource_name": name, "configs": [change]}]
    dry = model.chance(0.15)
    step = Step(
        "IncrementalAlterConfigs",
        model.version("IncrementalAlterConfigs"),
        {"resources": resources, "validate_only": dry},
    )

    def learn(answer: dict[str, Any]) -> None:
        if not answer["responses"][0]["error_code"] and not dry:
            step.until += _in_force(model, name, key, operation, None if operation == DELETE else value)

    step.learn = learn
    return step


@rule("AlterConfigs", 0.7)
def replace(model: Model) -> Step | None:
    name, key, value = _altered(model)
    resources = [{"resource_type": TOPIC_RESOURCE, "resource_name": name, "configs": [{"name": key, "value": value}]}]
    dry = model.chance(0.15)
    step = Step("AlterConfigs", model.version("AlterConfigs"), {"resources": resources, "validate_only": dry})

    def learn(answer: dict[str, Any]) -> None:
        if not answer["responses"][0]["error_code"] and not dry:
            step.until += _in_force(model, name, key, SET, value)

    step.learn = learn
    return step


@rule("DescribeConfigs")
def describe(model: Model) -> Step | None:
    name, _ = model.some_partition()
    kind = model.pick([TOPIC_RESOURCE] * 8 + [BROKER_RESOURCE, 3, 77])
    keys = model.sample(list(SETTINGS), 3)
    resource = {
        "resource_type": kind,
        "resource_name": name if kind != BROKER_RESOURCE else model.pick(["1", "x", "99"]),
    }
    fields = {"resources": [resource | {"configuration_keys": keys}]}
    return Step("DescribeConfigs", model.version("DescribeConfigs"), fields, model.connection())


@rule("Metadata")
def metadata(model: Model) -> Step | None:
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
    return Step("Metadata", version, fields, model.connection())


@rule("DescribeTopicPartitions", 0.7)
def describe_partitions(model: Model) -> Step | None:
    name, _ = model.some_partition()
    fields: dict[str, Any] = {"topics": [{"name": name}], "response_partition_limit": model.pick([1, 2000, 0, -1])}
    if model.chance(0.3):
        fields["cursor"] = {"topic_name": name, "partition_index": model.pick([0, 1, -1])}
    return Step("DescribeTopicPartitions", model.version("DescribeTopicPartitions"), fields, model.connection())


@rule("DescribeCluster", 0.7)
def cluster(model: Model) -> Step | None:
    fields = {"endpoint_type": model.pick([1, 1, 1, 2, 3])}
    return Step("DescribeCluster", model.version("DescribeCluster"), fields, model.connection())


@rule("DescribeLogDirs", 0.5)
def log_dirs(model: Model) -> Step | None:
    name, partition = model.some_partition()
    return Step(
        "DescribeLogDirs",
        model.version("DescribeLogDirs", 3),
        {"topics": [{"topic": name, "partitions": [partition]}]},
        model.connection(),
    )


@rule("ElectLeaders", 0.5)
def elect(model: Model) -> Step | None:
    name, partition = model.some_partition()
    fields = {"election_type": model.pick([0, 0, 1]), "topic_partitions": [{"topic": name, "partitions": [partition]}]}
    return Step("ElectLeaders", model.version("ElectLeaders"), fields, model.connection())


@rule("ApiVersions", 0.7)
def versions(model: Model) -> Step | None:
    name = model.pick(["brokertrial", "brokertrial", "-bad", "bad name", ""])
    return Step(
        "ApiVersions",
        model.version("ApiVersions", 0, 4),
        {"client_software_name": name, "client_software_version": "1.0"},
        model.connection(),
    )

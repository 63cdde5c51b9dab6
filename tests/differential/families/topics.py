"""Topics: made, looked at, widened, emptied, set, deleted."""

from __future__ import annotations

from typing import Any

from tests.differential.families import makes
from tests.differential.step import Settled, Step
from tests.differential.world import Topic, World

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


@makes("CreateTopics", 2.0)
def create(world: World) -> Step | None:
    if len(world.topics) >= 4:
        return None
    name = f"{world.ours}-t{len(world.topics)}"
    wanted: dict[str, Any] = {"name": name, "num_partitions": world.rng.randint(1, 3), "replication_factor": 1}
    kind = world.pick(
        ["good"] * 5 + ["default", "count", "factor", "name", "again", "setting", "dry", "placed", "twice"]
    )
    if kind == "default":
        wanted |= {"replication_factor": -1}
    elif kind == "count":
        wanted |= {"num_partitions": world.pick([0, -2])}
    elif kind == "factor":
        wanted |= {"replication_factor": world.pick([0, 2, 4])}
    elif kind == "name":
        wanted |= {"name": world.pick(["", ".", "..", "a b", "x" * 250, f"{world.ours}/t"])}
    elif kind == "again" and (old := world.topic()):
        wanted |= {"name": old.name}
    elif kind == "setting":
        key = world.pick(list(SETTINGS))
        wanted |= {"configs": [{"name": key, "value": world.pick(SETTINGS[key])}]}
    elif kind == "placed":
        placed = [{"partition_index": n, "broker_ids": [world.pick([1, 1, 7])]} for n in range(2)]
        wanted |= {"num_partitions": -1, "replication_factor": -1, "assignments": placed}
    dry = kind == "dry"
    asked = [wanted, wanted] if kind == "twice" else [wanted]
    step = Step(
        "CreateTopics", world.version("CreateTopics", 4), {"topics": asked, "validate_only": dry, "timeout_ms": 20_000}
    )

    def learn(answer: dict[str, Any]) -> None:
        (entry,) = answer["topics"]
        if not entry["error_code"] and not dry:
            count = 2 if kind == "placed" else wanted["num_partitions"]
            world.topics.append(Topic(entry["name"], count, entry.get("topic_id")))
            step.settle.append(Settled("topic", entry["name"], count))

    step.learn = learn
    return step


@makes("DeleteTopics", 0.6)
def delete(world: World) -> Step | None:
    topic = world.topic()
    if topic is None or (len([each for each in world.topics if each.alive]) < 2 and world.chance(0.7)):
        return None
    version = world.version("DeleteTopics")
    name = topic.name if world.chance(0.6) else f"{world.ours}-none"
    fields: dict[str, Any] = {"timeout_ms": 20_000, "topic_names": [name], "topics": [{"name": name}]}
    if version >= 6 and topic.topic_id is not None and name == topic.name and world.chance(0.4):
        fields["topics"] = [{"name": None, "topic_id": topic.topic_id}]
    step = Step("DeleteTopics", version, fields)

    def learn(answer: dict[str, Any]) -> None:
        if answer["responses"] and not answer["responses"][0]["error_code"]:
            topic.alive = False
            step.settle.append(Settled("gone", topic.name))
            groups = (world.consumers.name, *(group.name for group in world.groups))
            step.settle.append(Settled("forgotten", topic.name, groups))

    step.learn = learn
    return step


@makes("CreatePartitions")
def widen(world: World) -> Step | None:
    topic = world.topic()
    name, now = (topic.name, topic.partitions) if topic else (f"{world.ours}-none", 1)
    count = now + world.pick([1, 1, 1, 0, -1, -now - 1])
    wanted: dict[str, Any] = {"name": name, "count": count, "assignments": None}
    if world.chance(0.2):
        wanted["assignments"] = [{"broker_ids": [world.pick([1, 9])]} for _ in range(world.pick([1, 2]))]
    dry = world.chance(0.2) or now > 6
    step = Step(
        "CreatePartitions",
        world.version("CreatePartitions"),
        {"topics": [wanted], "timeout_ms": 20_000, "validate_only": dry},
    )

    def learn(answer: dict[str, Any]) -> None:
        if topic and not answer["results"][0]["error_code"] and not dry:
            topic.partitions = count
            step.settle.append(Settled("topic", topic.name, count))

    step.learn = learn
    return step


@makes("DeleteRecords", 1.2)
def delete_records(world: World) -> Step | None:
    name, partition = world.some_topic()
    offset = world.pick([0, 1, 2, -1, -2, 99_999])
    topics = [{"name": name, "partitions": [{"partition_index": partition, "offset": offset}]}]
    return Step("DeleteRecords", world.version("DeleteRecords"), {"topics": topics, "timeout_ms": 20_000}, world.line())


def _altered(world: World) -> tuple[str, str, str | None]:
    topic = world.topic()
    name = topic.name if topic and world.chance(0.9) else f"{world.ours}-none"
    key = world.pick(list(SETTINGS))
    value = world.pick([SETTINGS[key][0]] * 3 + SETTINGS[key])
    return name, key, value


def _in_force(world: World, name: str, key: str, operation: int, value: str | None) -> list[Settled]:
    world.changes += 1
    return [Settled("setting", name, (key, operation, value)), Settled("applied", name, world.changes)]


@makes("IncrementalAlterConfigs")
def alter(world: World) -> Step | None:
    name, key, value = _altered(world)
    operation = world.pick([0, 0, 0, 1, 2, 3])
    change = {"name": key, "config_operation": operation, "value": value}
    resources = [{"resource_type": TOPIC_RESOURCE, "resource_name": name, "configs": [change]}]
    dry = world.chance(0.15)
    step = Step(
        "IncrementalAlterConfigs",
        world.version("IncrementalAlterConfigs"),
        {"resources": resources, "validate_only": dry},
    )

    def learn(answer: dict[str, Any]) -> None:
        if not answer["responses"][0]["error_code"] and not dry:
            step.settle += _in_force(world, name, key, operation, None if operation == DELETE else value)

    step.learn = learn
    return step


@makes("AlterConfigs", 0.7)
def replace(world: World) -> Step | None:
    name, key, value = _altered(world)
    resources = [{"resource_type": TOPIC_RESOURCE, "resource_name": name, "configs": [{"name": key, "value": value}]}]
    dry = world.chance(0.15)
    step = Step("AlterConfigs", world.version("AlterConfigs"), {"resources": resources, "validate_only": dry})

    def learn(answer: dict[str, Any]) -> None:
        if not answer["responses"][0]["error_code"] and not dry:
            step.settle += _in_force(world, name, key, SET, value)

    step.learn = learn
    return step


@makes("DescribeConfigs")
def describe(world: World) -> Step | None:
    name, _ = world.some_topic()
    kind = world.pick([TOPIC_RESOURCE] * 8 + [BROKER_RESOURCE, 3, 77])
    keys = world.rng.sample(list(SETTINGS), 3)
    resource = {
        "resource_type": kind,
        "resource_name": name if kind != BROKER_RESOURCE else world.pick(["1", "x", "99"]),
    }
    fields = {"resources": [resource | {"configuration_keys": keys}]}
    return Step("DescribeConfigs", world.version("DescribeConfigs"), fields, world.line())


@makes("Metadata")
def metadata(world: World) -> Step | None:
    version = world.version("Metadata", 1)
    topic = world.topic()
    name = topic.name if topic and world.chance(0.8) else f"{world.ours}-none"
    wanted: dict[str, Any] = {"name": name}
    if version >= 12 and topic and topic.topic_id and world.chance(0.3):
        wanted = {"name": None, "topic_id": topic.topic_id}
    topics = [] if world.chance(0.1) else [wanted]
    fields = {
        "topics": topics,
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": world.chance(0.2),
    }
    if version < 4:
        fields["topics"] = [{"name": topic.name}] if topic else []
    return Step("Metadata", version, fields, world.line())


@makes("DescribeTopicPartitions", 0.7)
def describe_partitions(world: World) -> Step | None:
    name, _ = world.some_topic()
    fields: dict[str, Any] = {"topics": [{"name": name}], "response_partition_limit": world.pick([1, 2000, 0, -1])}
    if world.chance(0.3):
        fields["cursor"] = {"topic_name": name, "partition_index": world.pick([0, 1, -1])}
    return Step("DescribeTopicPartitions", world.version("DescribeTopicPartitions"), fields, world.line())


@makes("DescribeCluster", 0.7)
def cluster(world: World) -> Step | None:
    fields = {"endpoint_type": world.pick([1, 1, 1, 2, 3])}
    return Step("DescribeCluster", world.version("DescribeCluster"), fields, world.line())


@makes("DescribeLogDirs", 0.5)
def log_dirs(world: World) -> Step | None:
    name, partition = world.some_topic()
    return Step(
        "DescribeLogDirs",
        world.version("DescribeLogDirs", 3),
        {"topics": [{"topic": name, "partitions": [partition]}]},
        world.line(),
    )


@makes("ElectLeaders", 0.5)
def elect(world: World) -> Step | None:
    name, partition = world.some_topic()
    fields = {"election_type": world.pick([0, 0, 1]), "topic_partitions": [{"topic": name, "partitions": [partition]}]}
    return Step("ElectLeaders", world.version("ElectLeaders"), fields, world.line())


@makes("ApiVersions", 0.7)
def versions(world: World) -> Step | None:
    name = world.pick(["brokertrial", "brokertrial", "-bad", "bad name", ""])
    return Step(
        "ApiVersions",
        world.version("ApiVersions", 0, 4),
        {"client_software_name": name, "client_software_version": "1.0"},
        world.line(),
    )

"""Settings of topics: changed one by one or as a whole, shown; those that there are listed."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep, Visible

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
    "message.timestamp.before.max.ms": ["3600000", "60000", "-1"],
    "message.timestamp.after.max.ms": ["3600000", "0", "-1"],
    "retention.bytes": ["1000000", "-1", "-2"],
    "flush.messages": ["1", "0"],
    "delete.retention.ms": ["1000", "-1"],
    "no.such.setting": ["1"],
}


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
def alter(model: Model) -> RequestStep | None:
    name, key, value = _altered(model)
    operation = model.pick([0, 0, 0, 1, 2, 3])
    change = {"name": key, "config_operation": operation, "value": value}
    resources = [{"resource_type": TOPIC_RESOURCE, "resource_name": name, "configs": [change]}]
    dry = model.chance(0.15)
    step = RequestStep(
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
def replace(model: Model) -> RequestStep | None:
    name, key, value = _altered(model)
    resources = [{"resource_type": TOPIC_RESOURCE, "resource_name": name, "configs": [{"name": key, "value": value}]}]
    dry = model.chance(0.15)
    step = RequestStep("AlterConfigs", model.version("AlterConfigs"), {"resources": resources, "validate_only": dry})

    def learn(answer: dict[str, Any]) -> None:
        if not answer["responses"][0]["error_code"] and not dry:
            step.until += _in_force(model, name, key, SET, value)

    step.learn = learn
    return step


@rule("DescribeConfigs")
def describe(model: Model) -> RequestStep | None:
    name, _ = model.some_partition()
    kind = model.pick([TOPIC_RESOURCE] * 8 + [BROKER_RESOURCE, 3, 77])
    keys = model.sample(list(SETTINGS), 3)
    resource = {
        "resource_type": kind,
        "resource_name": name if kind != BROKER_RESOURCE else model.pick(["1", "x", "99"]),
    }
    fields = {"resources": [resource | {"configuration_keys": keys}]}
    return RequestStep("DescribeConfigs", model.version("DescribeConfigs"), fields, model.connection())

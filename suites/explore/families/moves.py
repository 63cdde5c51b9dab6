"""Elections and moves, as far as one node allows: leaders that lead already, replicas that stay, and what cannot be."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep, StepReplicas

PREFERRED, UNCLEAN = 0, 1
NOWHERE = 7
"""A node that there is not."""


@rule("ElectLeaders", 0.8)
def elect(model: Model) -> RequestStep | None:
    """Of one partition or several, also one that is not there or is named twice; at times of all that there are."""
    topics = _named(model, "topic", "partitions", ["plain"] * 8 + ["twice", "none", "all"])
    fields = {
        "election_type": model.pick([PREFERRED, PREFERRED, UNCLEAN, 2, -1]), "topic_partitions": topics,
        "timeout_ms": 10_000,
    }  # fmt: skip
    return RequestStep("ElectLeaders", model.version("ElectLeaders"), fields, model.connection())


@rule("AlterPartitionReassignments", 0.8)
def move(model: Model) -> RequestStep | None:
    """To where a partition is already, or to where none can be, each partition elsewhere; moves called off."""
    topics = []
    for name, indexes in model.some_partitions(0.15).items():
        places = [{"partition_index": index, "replicas": _target(model, name, index)} for index in indexes]
        topics.append({"name": name, "partitions": places})
    match model.pick(["plain"] * 8 + ["none", "unknown"]):
        case "none":
            topics = []
        case "unknown":
            unknown = {"partition_index": 0, "replicas": None}
            topics.append({"name": f"{model.prefix}-nowhere", "partitions": [unknown]})
    fields = {"topics": topics, "timeout_ms": 10_000, "allow_replication_factor_change": model.chance(0.6)}
    version = model.version("AlterPartitionReassignments")
    return RequestStep("AlterPartitionReassignments", version, fields, model.connection())


def _target(model: Model, name: str, index: int) -> Any:
    where = StepReplicas(name, index)
    doubled = StepReplicas(name, index, times=2)
    beside = StepReplicas(name, index, more=(NOWHERE,))
    return model.pick([where, where, None, None, [NOWHERE], [], doubled, beside, [-1], [NOWHERE, NOWHERE]])


@rule("ListPartitionReassignments", 0.6)
def moves(model: Model) -> RequestStep | None:
    """Of some partitions, or of all: on one node none is ever under way."""
    topics = _named(model, "name", "partition_indexes", ["plain"] * 4 + ["twice", "none", "all", "all"])
    fields = {"topics": topics, "timeout_ms": 10_000}
    version = model.version("ListPartitionReassignments")
    return RequestStep("ListPartitionReassignments", version, fields, model.connection())


def _named(model: Model, topic: str, indexes: str, ways: list[str]) -> list[dict[str, Any]] | None:
    """Some partitions, under the names that the request has for a topic and for these; once or twice, none, or all."""
    named = [{topic: name, indexes: numbers} for name, numbers in model.some_partitions(0.15).items()]
    return {"plain": named, "twice": named * 2, "none": [], "all": None}[model.pick(ways)]

"""Producers without a transactional id: given ids, and looked at in the partitions that they wrote to."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model, ModelProducer
from brokertrial.suites.explore.step import RequestStep

MOST = 5


@rule("InitProducerId", 1.5)
def idempotent(model: Model) -> RequestStep | None:
    kind = model.pick(["new"] * 4 + ["half", "timeout"])
    fields: dict[str, Any] = {"transactional_id": None, "transaction_timeout_ms": model.pick([60_000, 0, -1])}
    if kind == "half":
        fields |= {"producer_id": model.pick([5, -1]), "producer_epoch": model.pick([1, -1])}
    step = RequestStep("InitProducerId", model.version("InitProducerId"), fields, model.connection())

    def learn(answer: dict[str, Any]) -> None:
        if not answer["error_code"] and len(model.producers) < MOST and answer["producer_id"] != -1:
            model.producers.append(ModelProducer(answer["producer_id"], answer["producer_epoch"]))

    step.learn = learn
    return step


@rule("DescribeProducers", 1.0)
def describe(model: Model) -> RequestStep | None:
    topics = [{"name": name, "partition_indexes": indexes} for name, indexes in model.some_partitions(0.15).items()]
    return RequestStep("DescribeProducers", 0, {"topics": topics}, model.connection())

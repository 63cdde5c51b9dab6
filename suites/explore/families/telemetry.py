"""What clients measure (KIP-714): asked what is wanted, sent without a subscription, sent badly."""

from __future__ import annotations

import uuid

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep

UNNAMED = uuid.UUID(int=0)


def _client(model: Model) -> uuid.UUID:
    return uuid.uuid5(UNNAMED, f"{model.prefix}-{model.below(2)}")


@rule("GetTelemetrySubscriptions", 0.4)
def subscriptions(model: Model) -> RequestStep | None:
    fields = {"client_instance_id": model.pick([UNNAMED, _client(model)])}
    version = model.version("GetTelemetrySubscriptions")
    return RequestStep("GetTelemetrySubscriptions", version, fields, model.connection())


@rule("PushTelemetry", 0.4)
def push(model: Model) -> RequestStep | None:
    """Of a client that was never given a subscription."""
    fields = {
        "client_instance_id": model.pick([_client(model), UNNAMED]), "subscription_id": model.pick([7, 0, -1]),
        "terminating": model.chance(0.2), "compression_type": model.pick([0, 1, 99]),
        "metrics": memoryview(model.pick([b"", b"not a metric"])),
    }  # fmt: skip
    return RequestStep("PushTelemetry", model.version("PushTelemetry"), fields, model.connection())

"""The quorum of controllers and the levels of features: looked at, and changes of levels tried out."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep

METADATA = "__cluster_metadata"
TRIES_FROM = 1
"""The version of UpdateFeatures from which on a change may be tried out."""
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


@rule("DescribeQuorum", 0.5)
def describe(model: Model) -> RequestStep | None:
    """Of the log of metadata, or of a topic that has no quorum."""
    name, index = model.pick(
        [(METADATA, 0), (METADATA, 0), (METADATA, 1), (METADATA, -1), model.some_partition(), ("", 0)]
    )
    topics: list[dict[str, Any]] = [{"topic_name": name, "partitions": [{"partition_index": index}]}]
    topics = model.pick([topics, topics, topics, [], topics * 2])
    return RequestStep("DescribeQuorum", model.version("DescribeQuorum"), {"topics": topics}, model.connection())


@rule("UpdateFeatures", 0.4)
def try_out(model: Model) -> RequestStep | None:
    """What would come of a change; nothing is changed."""
    version = model.version("UpdateFeatures", TRIES_FROM)
    if version < TRIES_FROM:
        return None
    updates = [
        {
            "feature": model.pick(["no.such.feature", "", "group.version", "metadata.version"]),
            "max_version_level": model.pick([1_000, 0, -1]),
            "upgrade_type": model.pick([UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, 0, 9]),
        }
        for _ in range(model.pick([1, 1, 1, 0]))
    ]
    fields = {"timeout_ms": 10_000, "feature_updates": updates, "validate_only": True}
    return RequestStep("UpdateFeatures", version, fields, model.connection())

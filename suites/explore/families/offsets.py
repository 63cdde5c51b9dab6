"""Offsets looked up: the ends of a partition, by time, by leader epoch; records deleted from its beginning."""

from __future__ import annotations

from typing import Any

from brokertrial.suites.explore.families import rule
from brokertrial.suites.explore.model import Model
from brokertrial.suites.explore.step import RequestStep

FAR_MS = 10**9


@rule("ListOffsets", 3.5)
def list_offsets(model: Model) -> RequestStep | None:
    """By every special time that there is, and by times that records have."""
    times = [-1, -1, -2, -2, -3, -4, -5, -6, *(model.now_ms + ms for ms in (0, 1, 300, 500, 900, FAR_MS)), 0]
    topics = []
    for name, indexes in model.some_partitions(0.12).items():
        places = [
            {
                "partition_index": index,
                "timestamp": model.pick(times),
                "current_leader_epoch": model.pick([-1, -1, -1, 0, 9]),
            }
            for index in indexes
        ]
        topics.append({"name": name, "partitions": places * 2 if model.chance(0.05) else places})
    fields: dict[str, Any] = {
        "replica_id": -1,
        "isolation_level": model.pick([0, 1]),
        "topics": topics,
        "timeout_ms": 5_000,
    }
    return RequestStep("ListOffsets", model.version("ListOffsets", 1), fields, model.connection())


@rule("OffsetForLeaderEpoch", 1.0)
def epoch_end(model: Model) -> RequestStep | None:
    topics = [
        {
            "topic": name,
            "partitions": [
                {
                    "partition": index,
                    "current_leader_epoch": model.pick([-1, 0, 5]),
                    "leader_epoch": model.pick([0, 0, 1, -1]),
                }
                for index in indexes
            ],
        }
        for name, indexes in model.some_partitions(0.15).items()
    ]
    fields = {"replica_id": -1, "topics": topics}
    return RequestStep("OffsetForLeaderEpoch", model.version("OffsetForLeaderEpoch"), fields, model.connection())


@rule("DeleteRecords", 1.5)
def delete_records(model: Model) -> RequestStep | None:
    topics = [
        {
            "name": name,
            "partitions": [
                {"partition_index": index, "offset": model.pick([0, 1, 2, -1, -2, 99_999])} for index in indexes
            ],
        }
        for name, indexes in model.some_partitions().items()
    ]
    fields = {"topics": topics, "timeout_ms": 20_000}
    return RequestStep("DeleteRecords", model.version("DeleteRecords"), fields, model.connection())

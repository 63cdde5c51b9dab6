"""What copies the records of one topic to another, and how its progress is told from what it must reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.workloads.context import WorkloadContext
from brokertrial.suites.workloads.workload import TopicPlan, Workload


@dataclass(frozen=True)
class Copying(Workload):
    """A group reads `topic`, and what it read is written to `output`."""

    reader: ClassVar[str]
    """What the copiers are called where they lag behind."""
    partitions: int = 3

    @property
    def topics(self) -> tuple[TopicPlan, ...]:
        return (TopicPlan("topic", self.partitions), TopicPlan("output", self.partitions))

    @property
    def groups(self) -> tuple[str, ...]:
        return ("group",)

    def readers(self, context: WorkloadContext) -> dict[str, dict[PartitionId, int]]:
        source = next(iter(context.topics))
        return {self.reader: {place: end for place, end in context.acked_offsets().items() if place[0] == source}}

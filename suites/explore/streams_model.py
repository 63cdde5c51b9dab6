"""What a sequence knows of its streams group: members, and the topology that they all run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelTopology:
    """Subtopologies without internal topics: the source topics of each, which are partitioned alike or are not."""

    subtopologies: tuple[tuple[str, ...], ...]
    alike: bool = False

    @property
    def topics(self) -> frozenset[str]:
        return frozenset(name for sources in self.subtopologies for name in sources)

    def fields(self, epoch: int) -> dict[str, Any]:
        """As a request holds it."""
        return {"epoch": epoch, "subtopologies": [self._one(n, each) for n, each in enumerate(self.subtopologies)]}

    def _one(self, number: int, sources: tuple[str, ...]) -> dict[str, Any]:
        together = {"source_topics": list(range(len(sources))), "source_topic_regex": []}
        copartitioned = [together | {"repartition_source_topics": []}] if self.alike and len(sources) > 1 else []
        return {
            "subtopology_id": str(number), "source_topics": sorted(sources), "source_topic_regex": [],
            "state_changelog_topics": [], "repartition_sink_topics": [], "repartition_source_topics": [],
            "copartition_groups": copartitioned,
        }  # fmt: skip

    def tasks(self, partitions: Mapping[str, int]) -> int:
        """How many there are; none while a topic is missing, or those that have to be alike are not."""
        counts = [[partitions.get(name, 0) for name in sources] for sources in self.subtopologies]
        if any(0 in each for each in counts) or (self.alike and any(len(set(each)) > 1 for each in counts)):
            return 0
        return sum(max(each) for each in counts)


@dataclass(slots=True)
class ModelStreamsGroup:
    """`unclear`: a topology was taken that nobody else runs; what the group does then is left alone."""

    name: str
    members: list[str] = field(default_factory=list)
    joined: int = 0
    topology: ModelTopology | None = None
    epoch: int = 0
    unclear: bool = False
    settled: dict[str, int] = field(default_factory=dict)
    """The source topics that there were when the group was last settled, and how many partitions each had."""

"""What a probe knows of a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from brokertrial.wire.messages import ZERO_UUID, Struct


class TopicView(msgspec.Struct):
    """A topic as Metadata showed it last."""

    topic_id: Any
    leaders: dict[int, int]
    epochs: dict[int, int]

    @classmethod
    def of(cls, row: Struct) -> TopicView:
        """From its row in Metadata."""
        leaders = {part.partition_index: part.leader_id for part in row.partitions}
        return cls(row.topic_id, leaders, {part.partition_index: part.leader_epoch for part in row.partitions})


class LastShown:
    """What a case was shown of leaderships since a node was last stopped, frozen or started."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicView] = {}
        self.coordinators: dict[tuple[int, str], int] = {}

    def clear(self) -> None:
        """A node is stopped, frozen or started: what was seen before may change."""
        self.topics.clear()
        self.coordinators.clear()


def renew_topic_ids(asked: Struct, known: Mapping[str, TopicView]) -> None:
    """Names topics by the ids that they have now: one may have been made again since the request was made."""
    for row in getattr(asked, "topics", None) or getattr(asked, "topic_data", None) or ():
        view = known.get(getattr(row, "name", "") or getattr(row, "topic", ""))
        if view is not None and getattr(row, "topic_id", ZERO_UUID) != ZERO_UUID:
            row.topic_id = view.topic_id

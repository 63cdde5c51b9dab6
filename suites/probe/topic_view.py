"""What a probe knows of a topic."""

from __future__ import annotations

from typing import Any

import msgspec


class TopicView(msgspec.Struct):
    """A topic as Metadata showed it last."""

    topic_id: Any
    leaders: dict[int, int]
    epochs: dict[int, int]

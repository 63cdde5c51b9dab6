"""The topics of the cluster, looked up by name and by id."""

from __future__ import annotations

import uuid

from brokertrial.reference_impl.control.image import Image, TopicImage


class Topics:
    """What the image says of topics, for those who answer requests."""

    def __init__(self, image: Image) -> None:
        self._image = image

    def get(self, name: str) -> TopicImage | None:
        return self._image.topics.get(name)

    def by_id(self, topic_id: uuid.UUID) -> TopicImage | None:
        return self._image.by_id.get(topic_id)

    def has(self, name: str, index: int) -> bool:
        """Whether there is such a partition, here or on another node."""
        topic = self._image.topics.get(name)
        return topic is not None and 0 <= index < topic.partitions

    def all(self) -> list[TopicImage]:
        return list(self._image.topics.values())

"""Fetch of several partitions in one request, also as a step of a fetch session (KIP-227)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.core import Core
from brokertrial.suites.probe.fetch import COMMITTED, MAX_WAIT_MS, UNCOMMITTED, Fetched
from brokertrial.wire.messages import request


class FetchedMany(Response):
    """The answer for several partitions, in the broker's order."""

    topic_names: Mapping[Any, str] = {}  # topic id -> name, for the versions that name topics by id

    @property
    def session_id(self) -> int:
        """The session that the broker keeps; 0 where it keeps none."""
        return int(self.must_succeed().struct.session_id)

    def of(self, topic: str, partition: int = 0) -> Fetched:
        """The part of one partition, which must be there exactly once."""
        found = [row for place, row in self._rows() if place == (topic, partition)]
        if len(found) != 1:
            self.is_false(f"{topic}-{partition} is answered {len(found)} times; it must be answered once", "responses")
        return Fetched(self.asked, found[0])

    def must_name(self, *places: PartitionId) -> Self:
        """It must succeed and name exactly these partitions, in whatever order."""
        return self.must_succeed().must_be_about(*places)

    def must_be_about(self, *places: PartitionId) -> Self:
        """It must name exactly these partitions, in whatever order, and whatever their errors are."""
        named, wanted = sorted(place for place, _ in self._rows()), sorted(places)
        return self.must(named == wanted, f"it names the partitions {named}; it must name {wanted}", "responses")

    @property
    def sizes(self) -> dict[PartitionId, int]:
        """The bytes of records that came for each partition named."""
        self.must_succeed()
        return {place: len(self.of(*place).raw) for place, _ in self._rows()}

    def _rows(self) -> list[tuple[PartitionId, str]]:
        return [
            ((self._name(topic), part.partition_index), f"responses[{t}].partitions[{p}]")
            for t, topic in enumerate(self.struct.responses)
            for p, part in enumerate(topic.partitions)
        ]

    def _name(self, topic: Any) -> str:
        return str(self.topic_names.get(topic.topic_id, topic.topic_id) if self.version >= 13 else topic.topic)


class FetchManyFamily(Core):
    """`wire.fetch_many({(topic, 0): 5, (topic, 1): 0})`"""

    def fetch_many(
        self,
        positions: Mapping[PartitionId, int],
        *,
        forget: Iterable[PartitionId] = (),
        at: PartitionId | None = None,
        isolation: str = UNCOMMITTED,
        max_wait_ms: int = MAX_WAIT_MS,
        min_bytes: int = 1,
        max_bytes: int = 0x7FFFFFFF,
        partition_max_bytes: int = 1 << 20,
        session_id: int = 0,
        session_epoch: int = -1,
        version: int | None = None,
        via: str = "main",
        wait: bool = True,
    ) -> FetchedMany:
        """One Fetch of these positions, in this order, from the node that leads the first (or the one of `at`).

        A session begins with session_epoch=0; its next step is epoch 1 with the id that came. Where no position is
        named `at` says whose leader is meant. Partitions with one leader: `wire.led_together(topic, 2)`.
        """
        first = at or next(iter(positions))
        names = list(dict.fromkeys(topic for topic, _ in (*positions, *forget, first)))
        ids = {name: self.topic_id(name) for name in names}
        asked = request(
            "Fetch",
            replica_id=-1,
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=int(isolation == COMMITTED),
            session_id=session_id,
            session_epoch=session_epoch,
            topics=[
                {
                    "topic": topic,
                    "topic_id": ids[topic],
                    "partitions": [
                        {
                            "partition": partition,
                            "current_leader_epoch": -1,
                            "fetch_offset": offset,
                            "partition_max_bytes": partition_max_bytes,
                        }
                    ],
                }
                for (topic, partition), offset in positions.items()
            ],
            forgotten_topics_data=[
                {"topic": topic, "topic_id": ids[topic], "partitions": [partition]} for topic, partition in forget
            ],
        )
        answer = self.ask_as(
            FetchedMany,
            asked,
            version=self.by_name("Fetch", names, 12) if version is None else version,
            to=lambda: self.leader(*first),
            via=via,
            wait=wait,
            may_take_s=max_wait_ms / 1000,
        )
        answer.topic_names = {topic_id: name for name, topic_id in ids.items()}
        return answer

"""ListOffsets: the ends of a partition, and the offset at a time."""

from __future__ import annotations

from typing import Literal, Self

from brokertrial.suites.probe.answer import Response
from brokertrial.suites.probe.core import END_UNSETTLED, Core
from brokertrial.suites.probe.fetch import COMMITTED, UNCOMMITTED
from brokertrial.wire.messages import request

SPECIAL = {"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5}
OffsetTime = int | Literal["latest", "earliest", "max-timestamp", "earliest-local", "latest-tiered"]
ROW = "topics[0].partitions[0]"


class Listed(Response):
    """The answer for one partition."""

    places = (f"{ROW}.error_code",)

    @property
    def offset(self) -> int:
        return int(self.must_succeed().at(f"{ROW}.offset"))

    @property
    def timestamp(self) -> int:
        return int(self.must_succeed().at(f"{ROW}.timestamp"))

    @property
    def leader_epoch(self) -> int:
        return int(self.must_succeed().at(f"{ROW}.leader_epoch"))

    def must_name(
        self, offset: int | None = None, *, timestamp: int | None = None, leader_epoch: int | None = None
    ) -> Self:
        """The query must succeed and name this offset (and this timestamp, this epoch)."""
        self.must_succeed()
        for field, wanted in (("offset", offset), ("timestamp", timestamp), ("leader_epoch", leader_epoch)):
            if wanted is not None:
                self.must_have(f"{ROW}.{field}", wanted)
        return self


class ListOffsetsFamily(Core):
    """`wire.list_offsets(topic, at=t).must_name(offset=1)`"""

    def list_offsets(
        self,
        topic: str,
        partition: int = 0,
        *,
        at: OffsetTime = "latest",
        isolation: str = UNCOMMITTED,
        leader_epoch: int = -1,
        version: int | None = None,
        to: int | None = None,
        via: str = "main",
        wait: bool = True,
        retry: bool = True,
    ) -> Listed:
        """The offset at a time (milliseconds) or at a named place, asked of the leader or of the node named."""
        asked = request(
            "ListOffsets",
            replica_id=-1,
            isolation_level=int(isolation == COMMITTED),
            timeout_ms=10_000,
            topics=[
                {
                    "name": topic,
                    "partitions": [
                        {
                            "partition_index": partition,
                            "current_leader_epoch": leader_epoch,
                            "timestamp": SPECIAL[at] if isinstance(at, str) else at,
                        }
                    ],
                }
            ],
        )
        settled = retry and to is None and leader_epoch < 0 and partition in self.known_partitions(topic)
        plain = version is None and isolation == UNCOMMITTED and leader_epoch < 0 and at in ("latest", "earliest")
        return self.ask_as(
            Listed,
            asked,
            version=version,
            to=(lambda: self.leader(topic, partition)) if to is None else to,
            via=via,
            wait=wait,
            retry_on=END_UNSETTLED if settled else (),
            refresh=lambda: self.refresh_metadata(topic),
            step="ends" if plain and self._is_led_by(to, topic, partition) else "",
        )

    def await_stable_end(self, topic: str, partition: int = 0, *, offset: int, within: float = 0.0) -> None:
        """The last stable offset comes to be this one; not for cases that are about it."""
        with self.on_the_way("stable-end"):
            self.eventually(
                lambda: self.list_offsets(topic, partition, isolation=COMMITTED).must_name(offset=offset), within=within
            )

"""How fast replicas that are not in sync may be brought, where their topic says so (KIP-73): one side of a broker.

What was taken is owed, and paid off at the rate that is set; who owes takes no more. So the first bytes come at once,
as with Apache Kafka, which looks at the rate of the last seconds before each read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brokertrial.reference_impl import bugs

if TYPE_CHECKING:
    from brokertrial.reference_impl.replica.local_node import LocalNode
    from brokertrial.reference_impl.replica.partition import Partition

LEADER, FOLLOWER = "leader", "follower"


class Unthrottled:
    """Nothing is held back."""

    def holds_back(self, partition: Partition, replica: int) -> bool:
        return False

    def took(self, partition: Partition, replica: int, size: int) -> None:
        """So many bytes went to this replica."""


class Throttle(Unthrottled):
    """What this broker sends as a leader, or takes as a follower; the settings are looked at each time."""

    def __init__(self, node: LocalNode, side: str) -> None:
        self._node, self._side = node, side
        self._owes, self._at_s = 0.0, node.clock.monotonic()

    def holds_back(self, partition: Partition, replica: int) -> bool:
        """Whether this replica, which is not in sync, has to wait."""
        return self._applies(partition, replica) and self._owed() > 0

    def took(self, partition: Partition, replica: int, size: int) -> None:
        if size and (self._applies(partition, replica) or bugs.on("B347")):
            self._owes = self._owed() + size

    def _applies(self, partition: Partition, replica: int) -> bool:
        topic = self._node.image.topics.get(partition.topic)
        if topic is None or (replica in topic.placements[partition.index].isr and not bugs.on("B182")):
            return False
        named = topic.configs.get(f"{self._side}.replication.throttled.replicas", "")
        if bugs.on("B137"):
            return True
        return named == "*" or f"{partition.index}:{self._node.node_id}" in (
            named if bugs.on("B197") else named.split(",")
        )

    def _owed(self) -> float:
        now_s, config = self._node.clock.monotonic(), self._node.config
        rate = config[name := f"{self._side}.replication.throttled.rate"]
        if (self._side == FOLLOWER and bugs.on("B138")) or (name not in config.dynamic and bugs.on("B136")):
            rate = config.given(name)
        self._owes = max(0.0, self._owes - rate * (now_s - self._at_s))
        self._at_s = now_s
        return self._owes

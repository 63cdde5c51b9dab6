"""Who leads instead (KIP-951): told with NOT_LEADER_OR_FOLLOWER, so that a client need not ask for metadata first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api.first_named import first_named
from brokertrial.reference_impl.control.image import NOBODY

if TYPE_CHECKING:
    from brokertrial.reference_impl.api.broker import Broker
    from brokertrial.wire.messages import Struct


def set_leader(node: Broker, topic: str | None, part: Struct, index: int) -> None:
    """Writes the present leader and its epoch into a partition's answer."""
    known = None if topic is None else node.topics.get(topic)
    if known is not None and 0 <= index < known.partitions:
        placement = known.placements[index]
        part.current_leader.leader_id = placement.leader
        part.current_leader.leader_epoch = 0 if bugs.on("X07") else placement.leader_epoch


def endpoints(node: Broker, parts: Iterable[Struct]) -> list[dict[str, Any]]:
    """Where the leaders listen that these partitions name."""
    named = {part.current_leader.leader_id for part in parts} - {NOBODY}
    if bugs.on("X06"):
        named = set(sorted(named)[:1])
    live = node.live_brokers()
    if bugs.on("B85"):
        live = {one.id: one.peers for one in node.image.brokers.values()}
    if bugs.on("B331"):
        live = {one: first_named(node, one, place) for one, place in live.items()}
    return [{"node_id": one, "host": live[one][0], "port": live[one][1]} for one in sorted(named) if one in live]

"""Which rack a broker is in, and which replica a consumer of a rack had better read (KIP-36, KIP-392)."""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.replica.partition import Partition

LEADER = -1


def of(node: Broker, broker: int) -> str | None:
    """The rack that a broker was started in."""
    known = node.image.brokers.get(broker)
    if known is None:
        return node.config.text("broker.rack") or None if broker == node.node_id else None
    return known.rack or None


def better(node: Broker, partition: Partition, rack: str, offset: int) -> int:
    """An in-sync follower in the consumer's rack that has the offset, as RackAwareReplicaSelector chooses it; -1: read
    here, for nobody better is there."""
    leading = partition.leading
    if leading is None and rack and of(node, node.node_id) != rack and bugs.on("Z57"):
        return partition.leader_id
    selects = node.config["replica.selector.class"] or (of(node, node.node_id) and bugs.on("B346"))
    if leading is None or not rack or not selects:
        return LEADER
    if of(node, node.node_id) == rack and not bugs.on("B101"):
        return LEADER
    ends = {
        one: progress.end_offset
        for one, progress in leading.followers.items()
        if of(node, one) == rack
        and (one in leading.isr or bugs.on("K42"))
        and (progress.start_offset <= offset or bugs.on("B311"))
        and offset <= progress.end_offset
    }
    return max(ends, key=lambda one: ends[one], default=LEADER)

"""When a committed offset has outlived its use (KIP-211)."""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.classic import CONSUMER, ClassicGroup, GroupState
from brokertrial.reference_impl.group.consumer import ConsumerGroup
from brokertrial.reference_impl.group.layout import OffsetKey
from brokertrial.reference_impl.group.offsets import Offsets


def expired(group: ClassicGroup | ConsumerGroup, offsets: Offsets, now_ms: int, keep_ms: int) -> list[OffsetKey]:
    """What to drop: at the time that came with the commit, else by its age, which counts from when the group emptied,
    else from the commit; never if staged or subscribed."""
    members = group.protocol_type is not None and group.state is not GroupState.EMPTY
    settled = group.state is GroupState.STABLE or bugs.on("Z15")
    if members and not (group.protocol_type == CONSUMER and group.topics is not None and settled):
        return []
    emptied = group.protocol_type is not None and group.state is GroupState.EMPTY
    found = []
    for (topic, partition), value in offsets.of_group(group.group_id).items():
        counts = emptied and group.since_ms >= 0 and not bugs.on("V64")
        base_ms = max(group.since_ms, 0) if counts else value.committed_ms
        if members and group.subscribes(topic) and not bugs.on("V61"):
            continue
        is_old = now_ms >= value.expires_ms if value.expires_ms >= 0 else now_ms - base_ms >= keep_ms
        if is_old and (bugs.on("V62") or not offsets.unstable(group.group_id, topic, partition)):
            found.append(OffsetKey(group.group_id, topic, partition))
    return found


def spent(group: ClassicGroup | ConsumerGroup, offsets: Offsets) -> bool:
    """True for an empty group with nothing committed and nothing staged: it may go."""
    return (
        group.state is GroupState.EMPTY
        and not offsets.of_group(group.group_id)
        and (bugs.on("V63") or not offsets.has_staged(group.group_id))
    )

"""KIP-848 groups at their edge: their log, their timers, and the topics that they may see.

The decisions are in `consumer_heartbeat.py`; what an answer tells is in `__consumer_offsets` before it leaves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group import consumer_heartbeat, consumer_layout
from brokertrial.reference_impl.group.alarms import Alarms
from brokertrial.reference_impl.group.classic import ClassicGroup, GroupState
from brokertrial.reference_impl.group.consumer import LEFT, LEFT_FOR_A_WHILE, Catalogue, ConsumerGroup
from brokertrial.reference_impl.group.consumer_effects import Beat, GroupChange, Refusal
from brokertrial.reference_impl.group.consumer_heartbeat import ConsumerLimits, Heartbeat
from brokertrial.reference_impl.group.restoring import Groups
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.wire import errors

if TYPE_CHECKING:
    from brokertrial.reference_impl.control.image import TopicImage
    from brokertrial.reference_impl.replica.local_node import LocalNode

log = logging.getLogger("groups")


def _partitions(topic: TopicImage) -> int:
    """All of them, whether a member could read them now or not."""
    return sum(one.leader >= 0 for one in topic.placements) if bugs.on("B93") else topic.partitions


class AppendRows(Protocol):
    """Appends records of one group to its partition of the offsets topic."""

    def __call__(self, group_id: str, rows: Sequence[tuple[bytes, bytes | None]]) -> int: ...


class ConsumerGroups:
    """The KIP-848 groups among all groups of this coordinator."""

    def __init__(self, node: LocalNode, groups: Groups, write: AppendRows, now: Callable[[], int]) -> None:
        self._node, self._groups, self._write, self._now = node, groups, write, now
        self._alarms = Alarms(node.clock, now, self._tick)
        self._first_sessions: dict[str, int] = {}

    def stop(self) -> None:
        self._alarms.cancel()

    def find(self, group_id: str) -> ConsumerGroup | None:
        found = self._groups.get(group_id)
        return found if isinstance(found, ConsumerGroup) else None

    def limits(self, group_id: str) -> ConsumerLimits:
        config = self._node.config
        session_ms = int(self._node.group_setting(group_id, "consumer.session.timeout.ms"))
        return ConsumerLimits(
            self._first_sessions.setdefault(group_id, session_ms) if bugs.on("E05") else session_ms,
            config["group.consumer.max.size"],
        )

    def heartbeat(self, group_id: str, request: Heartbeat) -> Beat | Refusal:
        """Every kind of heartbeat; what it changes is in the log when this returns."""
        leaves = request.epoch in (LEFT, LEFT_FOR_A_WHILE)
        group = self._made(group_id, request.epoch == 0, request.instance_id)
        if group is None:
            return Refusal(errors.GROUP_ID_NOT_FOUND, self._absent(group_id))
        if leaves:
            beat = consumer_heartbeat.leave(group, request.member_id, request.instance_id, request.epoch)
        else:
            limits = self.limits(group_id)
            beat = consumer_heartbeat.heartbeat(group, request, self._catalogue(), self._now(), limits)
        if isinstance(beat, Beat):
            self._adopt(group)
            self._save(group, beat.changes)
        self._arm(group)
        return beat

    def delete(self, group: ConsumerGroup) -> None:
        """Buries an empty group."""
        self._write(group.group_id, consumer_layout.burial(group))
        del self._groups[group.group_id]

    # -- the log -------------------------------------------------------------------------------------------------

    def loaded(self, group: ConsumerGroup) -> None:
        """Starts the sessions of a group that was just read back."""
        if not bugs.on("B75"):
            group.topics = consumer_heartbeat.resolved(group, self._catalogue())
        if bugs.on("B90"):
            group.metadata_hash = consumer_heartbeat.topics_hash(group.topics, self._catalogue())
        limits = self.limits("" if bugs.on("D79") else group.group_id)
        consumer_heartbeat.loaded(group, self._now(), limits)
        self._arm(group)

    def resigned(self, group_id: str) -> None:
        """Another node coordinates this group now: its sessions are not ours to end."""
        self._alarms.drop(group_id)

    def _save(self, group: ConsumerGroup, changes: list[GroupChange]) -> None:
        if changes:
            self._write(group.group_id, consumer_layout.rows(group.group_id, changes, self._node.clock.now_ms()))

    # -- groups --------------------------------------------------------------------------------------------------

    def _made(self, group_id: str, joins: bool, instance_id: str | None) -> ConsumerGroup | None:
        """The group; a first member makes it, also in the place of an empty classic one."""
        found = self._groups.get(group_id)
        if isinstance(found, ConsumerGroup):
            return found
        empty = found is None or (found.state is GroupState.EMPTY and not found.pending)
        replaces = found is not None and instance_id in found.static and bugs.on("B202")
        return ConsumerGroup(group_id) if joins and (empty or replaces) else None

    def _adopt(self, group: ConsumerGroup) -> None:
        before = self._groups.get(group.group_id)
        if isinstance(before, ClassicGroup) and before.protocol_type is not None:
            self._write(group.group_id, [(consumer_layout.classic_key(group.group_id), None)])
        self._groups[group.group_id] = group

    def _absent(self, group_id: str) -> str:
        if group_id in self._groups:
            return f"Group {group_id} is not a consumer group."
        return f"Consumer group {group_id} not found."

    def _catalogue(self) -> Catalogue:
        return {topic.name: (topic.id, _partitions(topic), self._racks(topic)) for topic in self._node.topics.all()}

    def _racks(self, topic: TopicImage) -> tuple[str, ...]:
        """Of each partition those in which it has a replica; nothing where brokers have none."""
        racks = {broker.id: broker.rack for broker in self._node.image.brokers.values() if broker.rack}
        return tuple(
            ",".join(sorted({racks.get(one, "") for one in (place.isr if bugs.on("B72") else place.replicas)}))
            for place in topic.placements
            if racks
        )

    # -- timers --------------------------------------------------------------------------------------------------

    def _arm(self, group: ConsumerGroup) -> None:
        self._alarms.arm(group.group_id, group.deadlines.values())

    def _tick(self, group_id: str) -> None:
        group = self.find(group_id)
        if group is not None:
            try:
                self._save(group, consumer_heartbeat.tick(group, self._now()))
            except Rejected as rejected:
                log.warning("group %s cannot be written: %s", group_id, rejected)
            self._arm(group)

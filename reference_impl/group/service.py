"""The group coordinator at its edge: groups and offsets of this node, their log, their timers.

The decisions are in `rebalance.py`, `commits.py` and `offsets.py`; here their effects are carried out, in order, so
that what an answer tells is already in `__consumer_offsets`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.coordinator.loading import Loads, leaves_off_looking, read_through
from brokertrial.reference_impl.coordinator.placement import partition_for
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS
from brokertrial.reference_impl.group import layout, rebalance, retention
from brokertrial.reference_impl.group.alarms import Alarms
from brokertrial.reference_impl.group.classic import ClassicGroup, GroupState
from brokertrial.reference_impl.group.consumer import ConsumerGroup
from brokertrial.reference_impl.group.consumer_service import ConsumerGroups
from brokertrial.reference_impl.group.effects import Effect, JoinResult, Saved, SyncResult
from brokertrial.reference_impl.group.handover import given_up
from brokertrial.reference_impl.group.joining import GroupLimits, JoinRequest
from brokertrial.reference_impl.group.layout import CommittedOffset, OffsetKey
from brokertrial.reference_impl.group.offsets import Offsets
from brokertrial.reference_impl.group.restoring import Groups, Restored
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.wire import errors
from brokertrial.wire.records import Record, build_batch

if TYPE_CHECKING:
    from brokertrial.reference_impl.clock import Timer
    from brokertrial.reference_impl.replica.local_node import LocalNode
    from brokertrial.reference_impl.replica.partition import Partition

log = logging.getLogger("groups")
_LATE_S = 0.02
_LARGE = 10_000
"""Of the record of a group, for one of the planted bugs."""


class GroupService:
    """Every group whose coordinator is this node."""

    def __init__(self, node: LocalNode) -> None:
        self._node = node
        self._groups: Groups = {}
        self._offsets: dict[int, Offsets] = {}
        self._alarms = Alarms(node.clock, self.now, self._tick)
        self._cleaning: Timer | None = None
        self._not_read_back: set[str] = set()
        self.told_of_nothing: set[str] = set()
        """Groups that one of the planted bugs has told of no offsets at all."""
        self._unlogged: list[ClassicGroup] = []
        self._deleted_meanwhile: list[str] = []
        self.loads = Loads(node.clock)
        self.consumer = ConsumerGroups(node, self._groups, self._write, self.now)

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Reads groups and offsets back from their log, and listens to what changes them from outside."""
        self._node.topic_deleted.append(self._topic_deleted)
        self._node.marker_written.append(self._marker_written)
        for index in self._node.led_indexes(CONSUMER_OFFSETS):
            self.elected(index)
        self._clean_later()

    def elected(self, index: int) -> None:
        """This node coordinates one more partition's groups, once it has read them back from the log."""
        if (partition := self._node.partition(CONSUMER_OFFSETS, index)) is None:
            return
        if not self._heeds_deletions():
            self._deleted_meanwhile.clear()
        self.loads.begin(partition, self._loading(partition))

    def resigned(self, index: int) -> None:
        """Another node coordinates them now, or nobody does, for their log was deleted: what is known here is
        forgotten, and who waits is sent away."""
        self.loads.give_up(index)
        if bugs.on("X11"):
            return
        self._offsets.pop(index, None)
        for other in self._offsets.values() if bugs.on("B130") else ():
            other.staged.clear()
        topic = self._node.topics.get(CONSUMER_OFFSETS)
        gone = [one for one in self._groups if topic is None or partition_for(one, topic.partitions) == index]
        for name in gone:
            group = self._groups[name]
            if isinstance(group, ClassicGroup) and not bugs.on("X13"):
                self._carry_out(group, given_up(group))
            self.consumer.resigned(name)
            del self._groups[name]
            self._alarms.drop(name)
        for beside in self._groups.values() if bugs.on("B174") else ():
            if isinstance(beside, ClassicGroup):
                self._carry_out(beside, given_up(beside))
        if bugs.on("B92"):
            self._alarms.cancel()

    def stop(self) -> None:
        self.loads.stop()
        self.consumer.stop()
        self._alarms.cancel()
        if self._cleaning is not None:
            self._cleaning.cancel()

    def now(self) -> int:
        """The clock that sessions and rebalances are measured by, in ms; unlike wall time it never jumps."""
        return int(self._node.clock.monotonic() * 1000)

    def limits(self) -> GroupLimits:
        config = self._node.config
        most = 2**31 - 1 if bugs.on("V66") else config["group.max.size"]
        return GroupLimits(config["group.initial.rebalance.delay.ms"], most)

    # -- groups --------------------------------------------------------------------------------------------------

    def find(self, group_id: str) -> ClassicGroup | ConsumerGroup | None:
        return self._groups.get(group_id)

    def classic(self, group_id: str) -> ClassicGroup | None:
        """The group if it is a classic one."""
        found = self._groups.get(group_id)
        return found if isinstance(found, ClassicGroup) else None

    def all(self) -> Iterable[ClassicGroup | ConsumerGroup]:
        return self._groups.values()

    def partition_of(self, group_id: str) -> int:
        """The partition of the offsets topic that holds this group; the topic is made if there is none."""
        topic = self._node.ensure_internal(CONSUMER_OFFSETS)
        count = self._node.config["offsets.topic.num.partitions"] if topic is None else topic.partitions
        return partition_for(group_id, count)

    def fresh_member_id(self, prefix: str) -> str:
        """An id nobody had before, not even before a restart."""
        return f"{prefix}-{uuid.UUID(int=self._node.rng.getrandbits(128), version=4)}"

    def join(self, group_id: str, request: JoinRequest) -> asyncio.Future[JoinResult]:
        """Resolved at once, or when the generation that the member waits for is complete."""
        answer: asyncio.Future[JoinResult] = asyncio.get_running_loop().create_future()
        consumers = self.consumer.find(group_id)
        if consumers is not None:
            away = bugs.on("W16") and all(member.epoch < 0 for member in consumers.members.values())
            if consumers.members and not away and not bugs.on("S03"):
                answer.set_result(JoinResult(answer, errors.INCONSISTENT_GROUP_PROTOCOL, request.member_id))
                return answer
            self.consumer.delete(consumers)
        group = self.classic(group_id)
        is_new = group is None
        if group is None:
            if request.member_id:
                answer.set_result(JoinResult(answer, errors.UNKNOWN_MEMBER_ID, request.member_id))
                return answer
            group = self._groups[group_id] = ClassicGroup(group_id)
        effects = rebalance.join(group, request, answer, self.now(), self.limits())
        if is_new and not any(isinstance(effect, Saved) for effect in effects):
            effects.insert(0, Saved(group_id, "", 0, None, None))
        self._carry_out(group, effects)
        return answer

    def sync(self, group_id: str, **request: Any) -> asyncio.Future[SyncResult]:
        """Resolved at once, or when the leader has brought the assignment."""
        answer: asyncio.Future[SyncResult] = asyncio.get_running_loop().create_future()
        group = self.classic(group_id)
        if group is None:
            answer.set_result(SyncResult(answer, errors.UNKNOWN_MEMBER_ID))
            return answer
        self._carry_out(group, rebalance.sync(group, ticket=answer, now=self.now(), **request))
        return answer

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> int:
        group = self.classic(group_id)
        if group is None:
            return errors.UNKNOWN_MEMBER_ID
        code = rebalance.heartbeat(group, member_id, instance_id, generation, self.now())
        self._arm(group)
        return code

    def leave(self, group_id: str, leavers: list[tuple[str, str | None]]) -> list[int]:
        """One code for each leaver."""
        group = self.classic(group_id)
        if group is None:
            return [errors.UNKNOWN_MEMBER_ID] * len(leavers)
        codes, effects = rebalance.leave(group, leavers, self.now(), self.limits())
        self._carry_out(group, effects)
        return codes

    def delete(self, group_id: str) -> int:
        """Forgets an empty group and all that it committed."""
        group = self._groups.get(group_id)
        if group is None:
            return errors.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return errors.NON_EMPTY_GROUP
        offsets = self.offsets_of(group_id)
        keys = [OffsetKey(group_id, *where) for where in offsets.of_group(group_id)]
        self.forget(group_id, keys if bugs.on("W10") else offsets.keys_of_group(group_id))
        if isinstance(group, ConsumerGroup):
            self.consumer.delete(group)
            return errors.NONE
        if not bugs.on("Y03"):
            self._write(group_id, [(layout.group_key(group_id), None)])
        del self._groups[group_id]
        return errors.NONE

    # -- offsets -------------------------------------------------------------------------------------------------

    def offsets_of(self, group_id: str) -> Offsets:
        return self._offsets.setdefault(self.partition_of(group_id), Offsets())

    def committed(self, group_id: str) -> dict[tuple[str, int], CommittedOffset]:
        """All offsets of a group that are in force."""
        if group_id in self._not_read_back:
            self._not_read_back.discard(group_id)
            return {}
        if bugs.on("N68"):
            group_id = next(iter(self._groups), group_id)
        return self.offsets_of(group_id).of_group(group_id)

    def commit(
        self, group_id: str, offsets: list[tuple[str, int, CommittedOffset]], producer: tuple[int, int] = (-1, -1)
    ) -> int:
        """Writes offsets to the log and takes them over; those of a transaction stay staged. Returns an error code."""
        self.open_to_commits(group_id).logged = True
        keys = [OffsetKey(group_id, topic, partition) for topic, partition, _ in offsets]
        values = [value for _, _, value in offsets]
        rows = [(layout.offset_key(k), layout.offset_value(v)) for k, v in zip(keys, values, strict=True)]
        base = self._write(group_id, rows, producer)
        state = self.offsets_of(group_id)
        for at, (key, value) in enumerate(zip(keys, values, strict=True)):
            if not bugs.on("N46"):
                state.replay(key, value, producer[0], base + at)
        return errors.NONE

    def open_to_commits(self, group_id: str) -> ClassicGroup | ConsumerGroup:
        """The group that commits go to: made by the first one, even if none of its offsets can be stored."""
        if group_id not in self._groups:
            made = self._groups[group_id] = ClassicGroup(group_id, logged=False)
            self._unlogged.append(made)
        return self._groups[group_id]

    def keep_alive(self, group_id: str, member_id: str) -> None:
        """A commit is a sign of life too, of a classic member."""
        group = self.classic(group_id)
        if group is None or member_id not in group.members or bugs.on("D02"):
            return
        if group.state is not GroupState.COMPLETING:
            rebalance.keep_alive(group, group.members[member_id], self.now())
            self._arm(group)

    def forget(self, group_id: str, keys: list[OffsetKey]) -> None:
        """Deletes committed and staged offsets of one group, for good."""
        if not keys:
            return
        written = keys[:500] if bugs.on("B285") else keys
        self._write(group_id, [(layout.offset_key(key), None) for key in written])
        state = self.offsets_of(group_id)
        for key in keys:
            state.replay(key, None, -1, -1)

    # -- effects, timers -----------------------------------------------------------------------------------------

    def _carry_out(self, group: ClassicGroup, effects: list[Effect]) -> None:
        """Writes, then answers; what cannot be written, on a full disk, is told to nobody: they look for another."""
        written = True
        for effect in effects:
            if isinstance(effect, Saved):
                written = self._saved(group, effect) and written
            else:
                answer: asyncio.Future[Effect] = effect.to  # type: ignore[assignment]
                if not answer.done() or bugs.on("B305"):
                    answer.set_result(effect if written else replace(effect, error=errors.NOT_COORDINATOR))
        self._arm(group)

    def _saved(self, group: ClassicGroup, effect: Saved) -> bool:
        group.logged = True
        now_ms = self._node.clock.now_ms()
        group.since_ms = now_ms if group.since_ms < 0 or not bugs.on("Z56") else group.since_ms
        value = layout.group_value(effect, now_ms)
        try:
            if not (len(value) > _LARGE and bugs.on("B203")):
                self._write(group.group_id, [(layout.group_key(group.group_id), value)])
        except Rejected as rejected:
            log.warning("group %s cannot be written: %s", group.group_id, rejected)
            return False
        if not group.members and bugs.on("M21e"):
            self.forget(group.group_id, self.offsets_of(group.group_id).keys_of_group(group.group_id))
        return True

    def _arm(self, group: ClassicGroup) -> None:
        self._alarms.arm(group.group_id, group.deadlines.values())

    def _tick(self, group_id: str) -> None:
        group = self.classic(group_id)
        if group is not None:
            self._carry_out(group, rebalance.tick(group, self.now(), self.limits()))

    # -- the log -------------------------------------------------------------------------------------------------

    def _write(
        self, group_id: str, rows: Sequence[tuple[bytes, bytes | None]], producer: tuple[int, int] = (-1, -1)
    ) -> int:
        self._reach(self.partition_of(group_id))
        now_ms = self._node.clock.now_ms()
        records = [Record(key=key, value=value, timestamp=now_ms) for key, value in rows]
        batch = build_batch(
            records, producer_id=producer[0], producer_epoch=producer[1], transactional=producer[0] >= 0
        )
        return self._node.append_internal(CONSUMER_OFFSETS, self.partition_of(group_id), batch)

    def _reach(self, index: int) -> None:
        """Something is written to a partition: groups that were only in memory are as good as written too."""
        for group in self._unlogged:
            group.logged = group.logged or self.partition_of(group.group_id) == index
        self._unlogged = [group for group in self._unlogged if not group.logged]

    def _loading(self, partition: Partition) -> Iterator[None]:
        """Everything is read, taken over in one turn at the log's end, and then wound up group by group."""
        found = Restored()
        yield from found.replay(read_through(partition, self._node.config["offsets.load.buffer.size"]))
        self._offsets[partition.index] = Offsets() if bugs.on("M21c") else found.offsets
        self._groups.update(found.groups)
        if bugs.on("M22"):
            self._not_read_back.update(found.groups)
        for topic in self._deleted_meanwhile:
            self._forget_topic(found.offsets, topic)
        for group in found.groups.values():
            if isinstance(group, ConsumerGroup):
                self.consumer.loaded(group)
            else:
                self._carry_out(group, rebalance.loaded(group, self.now(), self.limits()))
            yield

    # -- what happens elsewhere ----------------------------------------------------------------------------------

    def _marker_written(self, topic: str, index: int, producer_id: int, commit: bool) -> None:
        if topic == CONSUMER_OFFSETS:
            self._reach(index)
            if not (bugs.on("Z24") and any(one.state is GroupState.PREPARING for one in self._groups.values())):
                offsets = self._offsets.setdefault(index, Offsets())
                if bugs.on("B209"):
                    self._node.clock.call_later(_LATE_S, lambda: offsets.transaction_ended(producer_id, commit))
                else:
                    offsets.transaction_ended(producer_id, commit)

    def _topic_deleted(self, topic: str) -> None:
        if self._heeds_deletions():
            self._deleted_meanwhile.append(topic)
        for offsets in list(self._offsets.values()):
            self._forget_topic(offsets, topic)

    def _heeds_deletions(self) -> bool:
        """Whether something is being read that may have offsets of a topic that is deleted now."""
        return bool(self.loads) or bugs.on("B154")

    def _forget_topic(self, offsets: Offsets, topic: str) -> None:
        by_group: dict[str, list[OffsetKey]] = {}
        for key in offsets.keys_of_topic(topic):
            by_group.setdefault(key.group, []).append(key)
        for group_id, keys in () if bugs.on("P17") else by_group.items():
            self.forget(group_id, keys)

    def _clean_later(self) -> None:
        delay_s = self._node.config["offsets.retention.check.interval.ms"] / 1000
        self._cleaning = self._node.clock.call_later(delay_s, self._clean)

    def _clean(self) -> None:
        """Drops what nobody has used for offsets.retention.minutes, and groups that have nothing left (KIP-211)."""
        if self.loads and leaves_off_looking():
            return
        keep_ms = self._node.config["offsets.retention.minutes"] * 60_000
        keep_ms = (keep_ms + 2**31) % 2**32 - 2**31 if bugs.on("Z51") else keep_ms
        for group in list(self._groups.values()):
            offsets = self.offsets_of(group.group_id)
            try:
                expired = retention.expired(group, offsets, self._node.clock.now_ms(), keep_ms)
                if bugs.on("W17"):
                    for key in expired:
                        offsets.replay(key, None, -1, -1)
                else:
                    self.forget(group.group_id, expired)
                if retention.spent(group, offsets):
                    self.delete(group.group_id)
            except Rejected as rejected:
                log.warning("group %s cannot be cleaned yet: %s", group.group_id, rejected)
        self._clean_later()

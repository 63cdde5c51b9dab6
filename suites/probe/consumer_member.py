"""A member of a KIP-848 group, one heartbeat at a time: it owns what it was told last, and may hold on to more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brokertrial.histories.rows import PartitionId

if TYPE_CHECKING:
    from brokertrial.suites.probe.answer import Response
    from brokertrial.suites.probe.wire import Wire


class ConsumerGroupMember:
    """One member by hand. `owned` is what it was told to own, `held` what it has not given back all the same.

    `version`: of all its heartbeats, as of an older client; else the newest.
    """

    def __init__(
        self,
        wire: Wire,
        group: str,
        *topics: str,
        timeout_ms: int = 60_000,
        version: int | None = None,
        **wishes: Any,
    ) -> None:
        self.wire, self.group, self.topics = wire, group, topics
        self.id, self.epoch = wire.name("m"), 0
        self.owned: frozenset[PartitionId] = frozenset()
        self.held: frozenset[PartitionId] = frozenset()
        self._instance_id = wishes.pop("instance_id", None)
        self._how: dict[str, Any] = {} if version is None else {"version": version}
        self._joins_with = {"topics": topics, "rebalance_timeout_ms": timeout_ms, **wishes}

    @property
    def indexes(self) -> list[int]:
        """The numbers of the partitions that it was told to own."""
        return sorted(index for _, index in self.owned)

    def beat(
        self, *, epoch: int | None = None, owned: frozenset[PartitionId] | None = None, **changes: Any
    ) -> Response:
        """One heartbeat; what it answers is taken over. It says what it owns, and everything else when it joins."""
        sent = self.epoch if epoch is None else epoch
        wishes = self._joins_with if sent == 0 else {}
        says = (self.owned | self.held if sent else frozenset()) if owned is None else owned
        answer = self.wire.consumer_group_heartbeat(
            self.group,
            self.id,
            sent,
            owned=_by_topic(says),
            instance_id=self._instance_id,
            **{**self._how, **wishes, **changes},
        )
        told = answer.struct
        if not told.error_code and told.member_epoch >= 0:
            self.epoch = told.member_epoch
            if told.assignment is not None:
                self.owned = self._named(told.assignment.topic_partitions)
        return answer

    def leave(self, epoch: int = -1) -> Response:
        """Goes for good (-1), or as a static member for a while (-2)."""
        return self.beat(epoch=epoch)

    def _named(self, told: Any) -> frozenset[PartitionId]:
        names = {self.wire.topic_id(name): name for name in self.topics}
        return frozenset((names.get(topic.topic_id, "?"), index) for topic in told for index in topic.partitions)


def reconcile(*members: ConsumerGroupMember, partitions: int, within: float = 30) -> None:
    """Heartbeats go round until the members share so many partitions evenly, and nothing moves any more."""
    wire = members[0].wire

    def settled() -> bool:
        before = [(m.epoch, m.owned) for m in members]
        for member in members:
            member.beat().must_succeed()
        owned = [part for m in members for part in m.owned]
        sizes = [len(m.owned) for m in members]
        still = before == [(m.epoch, m.owned) for m in members]
        return still and len(owned) == len(set(owned)) == partitions and max(sizes) - min(sizes) <= 1

    with wire.on_the_way("consumer"):
        wire.until(settled, within=within, what=f"{partitions} partitions are owned by {len(members)} members")


def _by_topic(parts: frozenset[PartitionId]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, index in sorted(parts):
        found.setdefault(topic, []).append(index)
    return found

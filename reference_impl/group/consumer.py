"""A KIP-848 group as data: members with their epochs, the target that was computed for them, and who owns what.

    group epoch        rises with every change of members, subscriptions or topics
    assignment epoch   the group epoch for which the target was computed
    member epoch       the assignment epoch that a member has reached; it never falls while the member lives

Members are values: every change goes through `put`, which keeps the owners right. No clock, no sockets.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.classic import CONSUMER, GroupState

LEFT, LEFT_FOR_A_WHILE = -1, -2
OwnedPartition = tuple[uuid.UUID, int]
Parts = frozenset[OwnedPartition]
Catalogue = Mapping[str, tuple[uuid.UUID, int, tuple[str, ...]]]
"""All topics by name: id, number of partitions, and the racks of each partition's replicas (KIP-1101)."""

NOTHING: Parts = frozenset()


class MemberState(enum.IntEnum):
    """How far a member is on its way to its target; the numbers are those of Kafka's records."""

    STABLE = 0
    UNREVOKED = 1
    UNRELEASED = 2


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """One member as of its last heartbeat."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    progress: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    names: frozenset[str] = frozenset()
    regex: str | None = None
    client_id: str = ""
    client_host: str = ""
    assigned: Parts = NOTHING
    revoking: Parts = NOTHING
    since: Mapping[OwnedPartition, int] = field(default_factory=dict)
    """The member epoch in which each partition came to it (KIP-1251)."""

    def reached(self, assignment_epoch: int) -> bool:
        return self.progress is MemberState.STABLE and self.epoch == assignment_epoch


@dataclass(slots=True)
class ConsumerGroup:
    """One group. Changed only by the functions in `consumer_heartbeat.py`, and by replay of the log."""

    group_id: str
    logged: bool = True
    epoch: int = 0
    assignment_epoch: int = 0
    metadata_hash: int = 0
    """Of the topics that the members subscribe to, as the target was computed for them."""
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    target: dict[str, Parts] = field(default_factory=dict)
    owners: dict[OwnedPartition, str] = field(default_factory=dict)
    """Who owns a partition, or has not given it back yet: nobody else may have it."""
    deadlines: dict[tuple[str, str], int] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()
    since_ms: int = -1
    protocol_type: str = CONSUMER
    pending: tuple[str, ...] = ()

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(member.reached(self.assignment_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def assignor(self) -> str:
        """The one that most members ask for; uniform where nobody asks."""
        votes: dict[str, int] = {}
        for member in self.members.values():
            if member.assignor is not None:
                votes[member.assignor] = votes.get(member.assignor, 0) + 1
        chosen = min if bugs.on("Y42") else max
        return chosen(votes, key=lambda name: votes[name]) if votes else "uniform"

    def subscribes(self, topic: str) -> bool:
        return topic in self.topics

    def put(self, member: ConsumerMember) -> None:
        """Takes a member in, or its new state, and moves its partitions along."""
        self._disown(member.member_id)
        self.members[member.member_id] = member
        asked_back = frozenset() if bugs.on("Z16") else member.revoking
        for part in member.assigned | asked_back:
            self.owners[part] = member.member_id
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> ConsumerMember:
        """Forgets a member with its target and deadlines; its partitions are free."""
        self._disown(member_id)
        gone = self.members.pop(member_id)
        self.target.pop(member_id, None)
        self.deadlines.pop(("session", member_id), None)
        self.deadlines.pop(("rebalance", member_id), None)
        if gone.instance_id is not None and self.static.get(gone.instance_id) == member_id:
            del self.static[gone.instance_id]
        return gone

    def _disown(self, member_id: str) -> None:
        before = self.members.get(member_id)
        if before is not None:
            for part in before.assigned | before.revoking:
                if self.owners.get(part) == member_id:
                    del self.owners[part]

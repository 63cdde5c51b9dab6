"""A classic group as data: its members, the votes on a protocol, the deadlines that run. No clock, no sockets.

    Empty -> PreparingRebalance -> CompletingRebalance -> Stable
      ^            ^------ a join, a leave, a silent member ------'

Deadlines are kept here as numbers of the caller's clock; `rebalance.tick` is told the time and acts on those that are
due. What moves the group from state to state is in `rebalance.py`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.coordinator.placement import bucket
from brokertrial.reference_impl.group.effects import (
    Effect,
    JoinedMember,
    JoinResult,
    Saved,
    SavedMember,
    SyncResult,
    Ticket,
)
from brokertrial.reference_impl.group.layout import subscribed_topics
from brokertrial.wire import errors

CONSUMER = "consumer"
Protocols = tuple[tuple[str, bytes], ...]


class GroupState(enum.Enum):
    """The states of a group, by the names that ListGroups shows; two of them are those of KIP-848 groups alone."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"


@dataclass(slots=True)
class ClassicMember:
    """One member: what it asked for, what it was given, and which of its requests wait for an answer."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    join: Ticket | None = None
    sync: Ticket | None = None

    def metadata(self, protocol: str | None) -> bytes:
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def offers(self, protocols: Protocols) -> bool:
        """Whether it asked for the same protocols in the same order: the order is its vote."""
        if bugs.on("V17"):
            return sorted(self.protocols) == sorted(protocols)
        return self.protocols == protocols

    def heard(self) -> bool:
        """True when silence is excused: the member waits for us. A member's very first join is not excused."""
        return not self.is_new and (self.join is not None or self.sync is not None)


@dataclass(slots=True)
class ClassicGroup:
    """One group. Changed only by the functions in `rebalance.py`."""

    group_id: str
    state: GroupState = GroupState.EMPTY
    was: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    pending: dict[str, None] = field(default_factory=dict)
    """Member ids that were handed out (MEMBER_ID_REQUIRED) and have not come back yet; ordered like a set should be."""
    awaited: set[str] = field(default_factory=set)
    """Members of this generation that have not sent their SyncGroup."""
    topics: frozenset[str] | None = None
    """What the members subscribe to; None when the broker cannot know."""
    deadlines: dict[tuple[str, str], int] = field(default_factory=dict)
    initial_wait: tuple[int, int] = (0, 0)
    grew: bool = False
    logged: bool = True
    """False until the next record of its partition: Kafka lists and describes groups as of what is in the log."""
    dropped: set[str] = field(default_factory=set)
    """Who is gone while the session goes on; only with B252."""
    since_ms: int = -1
    """Wall time of the last completed change of state."""

    # -- questions ---------------------------------------------------------------------------------------------

    def supports(self, protocol_type: str, names: set[str]) -> bool:
        """True when a member with these protocols leaves at least one that every member knows."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(names)
        known = self.candidates()
        if bugs.on("K13"):
            known = {name for member in self.members.values() for name, _ in member.protocols}
        return self.protocol_type == protocol_type and bool(names & known)

    def candidates(self) -> set[str]:
        """The protocols that all members support."""
        shared = [{name for name, _ in member.protocols} for member in self.members.values()]
        return set.intersection(*shared) if shared else set()

    def elected_protocol(self) -> str:
        """Every member votes for the first of its protocols that all support; the most votes win.

        Of equals the one wins that Java's HashMap holds first: nobody's promise, but Kafka's answer every time.
        """
        candidates = self.candidates()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = next(name for name, _ in member.protocols if name in candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: (votes[name], -bucket(name)))

    def waiting(self) -> int:
        return sum(member.join is not None for member in self.members.values())

    def all_joined(self) -> bool:
        return self.waiting() == len(self.members) and not self.pending

    def rebalance_timeout_ms(self) -> int:
        chosen = min if bugs.on("E04") else max
        timeouts = [member.rebalance_timeout_ms for member in self.members.values()]
        if 0x7FFFFFFF in timeouts and bugs.on("B321"):
            return 0
        return chosen(timeouts) if timeouts or bugs.on("B68") else 0

    def subscribes(self, topic: str) -> bool:
        return topic in self.topics if self.topics is not None else self.protocol_type == CONSUMER

    def refusal(self, member_id: str, instance_id: str | None) -> int:
        """0 for a member of this group, 25 for a stranger, 82 for one whose instance id another holds now."""
        if instance_id is not None:
            holder = self.static.get(instance_id)
            if holder is None:
                return errors.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return errors.UNKNOWN_MEMBER_ID if bugs.on("P44") else errors.FENCED_INSTANCE_ID
        return errors.NONE if member_id in self.members else errors.UNKNOWN_MEMBER_ID

    def roster(self) -> tuple[JoinedMember, ...]:
        return tuple(JoinedMember(m.member_id, m.instance_id, m.metadata(self.protocol)) for m in self.members.values())

    def saved(self, assignments: dict[str, bytes] | None = None) -> Saved:
        """This generation as it goes to the log; `assignments` are those about to be handed out."""
        members = tuple(
            SavedMember(
                m.member_id, m.instance_id, m.client_id, m.client_host, m.rebalance_timeout_ms, m.session_timeout_ms,
                m.metadata(self.protocol), m.assignment if assignments is None else assignments.get(m.member_id, b""),
            )
            for m in self.members.values()
        )  # fmt: skip
        return Saved(self.group_id, self.protocol_type or "", self.generation, self.protocol, self.leader, members)

    # -- changes of membership ---------------------------------------------------------------------------------

    def move_to(self, state: GroupState) -> None:
        self.was, self.state = self.state, state

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        if not self.members and not (self.protocol_type and bugs.on("V93")):
            self.protocol_type = protocol_type
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Forgets a member, its timer and its claim to lead; nobody is answered here."""
        gone = self.members.pop(member_id, None)
        if gone is not None and gone.instance_id is not None:
            self.static.pop(gone.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending.pop(member_id, None)
        self.awaited.discard(member_id)
        if gone is not None and self.state is GroupState.PREPARING and bugs.on("B252"):
            self.dropped.add(member_id)
            return
        self.deadlines.pop(("session", member_id), None)

    def replace(self, instance_id: str, old_id: str, new_id: str) -> tuple[ClassicMember, list[Effect]]:
        """A static member came back under a new member id: it inherits everything, its old requests are fenced."""
        old = self.members.pop(old_id)
        fenced: list[Effect] = []
        if old.join is not None:
            fenced.append(JoinResult(old.join, errors.FENCED_INSTANCE_ID, old_id))
        if old.sync is not None and not bugs.on("V95"):
            fenced.append(SyncResult(old.sync, errors.FENCED_INSTANCE_ID))
        new = ClassicMember(
            new_id, instance_id, old.client_id, old.client_host, old.rebalance_timeout_ms, old.session_timeout_ms,
            old.protocols, old.assignment,
        )  # fmt: skip
        self.members[new_id] = new
        self.static[instance_id] = new_id
        self.deadlines.pop(("session", old_id), None)
        if self.leader == old_id:
            self.leader = new_id
        return new, fenced

    def elect_leader(self) -> bool:
        """Keeps the leader if it joined, else takes one that did; False when nobody did."""
        if self.leader is None:
            return False
        leader = self.members[self.leader]
        joined = [m.member_id for m in self.members.values() if m.join is not None]
        if joined and bugs.on("V92"):
            self.leader = joined[-1]
            return True
        if leader.join is not None or (leader.instance_id is not None and bugs.on("D13")):
            return True
        self.leader = joined[0] if joined else self.leader
        return bool(joined)

    def choose_protocol(self) -> None:
        """Settles protocol and subscription for the members as they are."""
        self.protocol = self.elected_protocol() if self.members else None
        if self.members and bugs.on("P34"):
            self.protocol = next(iter(self.members.values())).protocols[0][0]
        if self.members or not bugs.on("V18"):
            self.topics = self._subscription()

    def _subscription(self) -> frozenset[str] | None:
        if self.protocol_type != CONSUMER:
            return None
        found: set[str] = set()
        for member in self.members.values():
            topics = subscribed_topics(member.metadata(self.protocol))
            if topics is None:
                return None
            found |= topics
        return frozenset(found)


def restored(saved: Saved) -> ClassicGroup:
    """A group as its last record in the log describes it: Stable with members, Empty without."""
    group = ClassicGroup(
        saved.group_id,
        GroupState.STABLE if saved.members else GroupState.EMPTY,
        generation=0 if not saved.members and bugs.on("Y02") else saved.generation,
        protocol_type=saved.protocol_type or None,
        protocol=saved.protocol,
        leader=saved.members[0].member_id if saved.members and bugs.on("Y01") else saved.leader,
    )
    for m in saved.members:
        protocols = ((saved.protocol or "", m.subscription),)
        host = "" if bugs.on("Y04") else m.client_host
        group.members[m.member_id] = ClassicMember(
            m.member_id, m.instance_id, m.client_id, host, m.rebalance_timeout_ms, m.session_timeout_ms,
            protocols, m.assignment,
        )  # fmt: skip
        if m.instance_id is not None and not bugs.on("S13"):
            group.static[m.instance_id] = m.member_id
    group.choose_protocol()
    return group

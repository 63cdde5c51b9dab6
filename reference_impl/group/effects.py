"""What the group machine asks the world to do, as plain data.

Effects are carried out in order: what is to be saved is in the log before anybody is told about it.
"""

from __future__ import annotations

from dataclasses import dataclass

Ticket = object
"""Names the request that an answer belongs to; the machine never looks inside."""


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """One line of the list that only the leader gets."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinResult:
    """The answer to a JoinGroup request, maybe long after it came."""

    to: Ticket
    error: int
    member_id: str
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The answer to a SyncGroup request, maybe long after it came."""

    to: Ticket
    error: int
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class SavedMember:
    """What of a member survives a restart of the coordinator."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class Saved:
    """The group as of its last completed (or emptied) generation, to be written to the offsets topic."""

    group_id: str
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[SavedMember, ...] = ()


Effect = JoinResult | SyncResult | Saved

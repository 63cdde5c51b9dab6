"""What a member asks for when it joins a classic group, and the broker settings that bound it."""

from __future__ import annotations

from dataclasses import dataclass

from brokertrial.reference_impl.group.classic import Protocols


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The broker settings that the group protocol depends on."""

    initial_delay_ms: int = 3000
    max_size: int = 2**31 - 1


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A JoinGroup request, freed of its version."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    fresh_id: str
    """The member id to give out, should one be needed."""
    id_required: bool = True
    """v4 and later: a dynamic member must come back with the id that it is given (KIP-394)."""
    may_skip_assignment: bool = True
    """v9 and later: a static leader that returns to a stable group is told not to assign (KIP-814)."""

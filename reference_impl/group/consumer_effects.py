"""What a KIP-848 group asks to be written down, as plain data, and what its members are told."""

from __future__ import annotations

from dataclasses import dataclass, field

from brokertrial.reference_impl.group.consumer import ConsumerMember, Parts
from brokertrial.wire import errors


@dataclass(frozen=True, slots=True)
class SavedGroup:
    """The group epoch, and the topics for which it holds."""

    epoch: int
    metadata_hash: int


@dataclass(frozen=True, slots=True)
class SavedConsumerMember:
    """What a member has asked for."""

    member: ConsumerMember


@dataclass(frozen=True, slots=True)
class SavedProgress:
    """Which epoch a member has reached, what it owns and what it must give back."""

    member: ConsumerMember


@dataclass(frozen=True, slots=True)
class SavedTarget:
    """What one member should own."""

    member_id: str
    parts: Parts


@dataclass(frozen=True, slots=True)
class SavedTargetEpoch:
    """The epoch for which all targets were computed."""

    epoch: int


@dataclass(frozen=True, slots=True)
class MemberGone:
    """Nothing of this member is needed any more."""

    member_id: str


GroupChange = SavedGroup | SavedConsumerMember | SavedProgress | SavedTarget | SavedTargetEpoch | MemberGone


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error and the sentence that explains it."""

    error: int
    message: str


@dataclass(frozen=True, slots=True)
class Beat:
    """The answer to a heartbeat, and what has to be in the log before it is sent."""

    member_id: str
    epoch: int
    assignment: Parts | None = None
    changes: list[GroupChange] = field(default_factory=list)
    error: int = errors.NONE

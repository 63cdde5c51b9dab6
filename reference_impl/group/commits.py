"""Who may commit offsets to a group: members of its current generation, or anybody while it is empty."""

from __future__ import annotations

from collections.abc import Iterable

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.coordinator.loading import says_so_to_all
from brokertrial.reference_impl.group.classic import ClassicGroup, GroupState
from brokertrial.reference_impl.group.consumer import ConsumerGroup, ConsumerMember, OwnedPartition
from brokertrial.wire import errors


def refusal_to_producers(refusal: int, version: int) -> int:
    """What TxnOffsetCommit is refused with: producers of v0 and v1 end at 14, and ask again at 15 (KAFKA-7296)."""
    loads = refusal == errors.COORDINATOR_LOAD_IN_PROGRESS
    return errors.COORDINATOR_NOT_AVAILABLE if loads and version < 2 and not says_so_to_all() else refusal


def commit_refusal(
    group: ClassicGroup | ConsumerGroup | None, member_id: str, instance_id: str | None, generation: int, *,
    transactional: bool, version: int, parts: Iterable[OwnedPartition] = (),
) -> int:  # fmt: skip
    """0 when the commit may go ahead, else its error code; an absent group is open to commits without generation.

    A commit is welcome while the group calls its members back (PreparingRebalance: that is their last chance) and
    refused with 27 once a new generation waits for its assignment; a transactional one only has to name the right
    member.
    """
    if group is None:
        if generation < 0:
            return errors.NONE
        known = _is_newest(version, transactional=transactional) or (not transactional and bugs.on("D08"))
        return errors.GROUP_ID_NOT_FOUND if known else errors.ILLEGAL_GENERATION
    if generation < 0 and group.state is GroupState.EMPTY:
        return errors.NONE
    if isinstance(group, ConsumerGroup):
        if transactional and not member_id and generation < 0 and not bugs.on("K38"):
            return errors.NONE
        return _member_refusal(group, member_id, generation, parts, transactional=transactional, version=version)
    if generation >= 0 or member_id or instance_id is not None:
        refusal = group.refusal(member_id, instance_id)
        if not refusal and generation != group.generation and not (transactional and bugs.on("D09")):
            refusal = errors.ILLEGAL_GENERATION
        if refusal and not bugs.on("M23"):
            return refusal
    elif not transactional and not bugs.on("P14"):
        return errors.UNKNOWN_MEMBER_ID
    if not transactional and group.state is GroupState.COMPLETING and not bugs.on("P13"):
        return errors.REBALANCE_IN_PROGRESS
    return errors.NONE


def _member_refusal(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    parts: Iterable[OwnedPartition],
    *,
    transactional: bool,
    version: int,
) -> int:
    """A KIP-848 member commits in its epoch, or in an older one what it has owned since then (KIP-1251)."""
    member = group.members.get(member_id)
    if member is None:
        return errors.UNKNOWN_MEMBER_ID
    if not transactional and version < 9:
        return errors.UNSUPPORTED_VERSION
    if epoch == member.epoch or _owned_since(member, epoch, parts) or bugs.on("M24f"):
        return errors.NONE
    newest = _is_newest(version, transactional=transactional)
    return errors.STALE_MEMBER_EPOCH if newest else errors.ILLEGAL_GENERATION


def _is_newest(version: int, *, transactional: bool) -> bool:
    """Whether who asks knows the errors of KIP-848: TxnOffsetCommit v6 and OffsetCommit v9 do."""
    return version >= (6 if transactional else 9)


def _owned_since(member: ConsumerMember, epoch: int, parts: Iterable[OwnedPartition]) -> bool:
    latest, enough = 1 << 31, any if bugs.on("V81") else all
    return 0 <= epoch < member.epoch and enough(member.since.get(part, latest) <= epoch for part in parts)


def fetch_refusal(group: ClassicGroup | ConsumerGroup | None, member_id: str | None, epoch: int) -> int:
    """Who may ask for offsets: anybody who names no member, and members of this epoch (OffsetFetch v9)."""
    if not isinstance(group, ConsumerGroup) or (member_id is None and epoch < 0):
        return errors.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return errors.UNKNOWN_MEMBER_ID
    return errors.NONE if member.epoch == epoch else errors.STALE_MEMBER_EPOCH

"""One step of a member towards its target: give up first, then take what nobody else holds (KIP-848).

    assigned' = assigned and target      what it keeps
    revoking  = assigned - assigned'     it must say that it no longer owns these, before its epoch moves
    taking    = target - assigned' - whatever others still own

Pure. What the member owns is what it says in its heartbeat; None means that it did not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.consumer import NOTHING, ConsumerMember, MemberState, OwnedPartition, Parts


def reconciled(
    member: ConsumerMember, target_epoch: int, target: Parts, owners: Mapping[OwnedPartition, str], owned: Parts | None
) -> ConsumerMember:
    """The member's next state, or the same one when it cannot move yet."""
    if member.reached(target_epoch):
        return member
    if member.progress is MemberState.UNREVOKED:
        if _still_owns(owned, member.revoking):
            return member
        return _next(member, member.epoch + 1, target_epoch, target, owners, owned)
    return _next(member, member.epoch, target_epoch, target, owners, owned)


def without(member: ConsumerMember, readable: Parts) -> ConsumerMember:
    """The member without partitions of topics that it has given up: those it has to say that it owns no more."""
    given_up = member.assigned - readable
    if not given_up:
        return member
    return _moved(member, member.epoch, MemberState.UNREVOKED, member.assigned - given_up, member.revoking | given_up)


def _next(
    member: ConsumerMember, epoch: int, target_epoch: int, target: Parts, owners: Mapping[OwnedPartition, str],
    owned: Parts | None,
) -> ConsumerMember:  # fmt: skip
    kept = member.assigned & target
    revoking = member.assigned - kept
    if revoking and _still_owns(owned, revoking):
        return _moved(member, epoch, MemberState.UNREVOKED, kept, revoking)
    wanted = NOTHING if member.epoch and not member.assigned and bugs.on("Q07") else target - kept
    free = frozenset(part for part in wanted if part not in owners or bugs.on("M24b"))
    progress = MemberState.UNRELEASED if free != wanted else MemberState.STABLE
    if free != wanted and bugs.on("B79"):
        free = NOTHING
    return _moved(member, target_epoch, progress, kept | free, NOTHING)


def _moved(
    member: ConsumerMember, epoch: int, progress: MemberState, assigned: Parts, revoking: Parts
) -> ConsumerMember:
    since = {part: member.since.get(part, epoch) for part in assigned | (NOTHING if bugs.on("V82") else revoking)}
    after = replace(member, epoch=epoch, progress=progress, assigned=assigned, revoking=revoking, since=since)
    if after == member:
        return member
    return replace(after, previous_epoch=member.epoch)


def _still_owns(owned: Parts | None, revoking: Parts) -> bool:
    if owned is None:
        return not bugs.on("R23")
    return owned >= revoking if bugs.on("D15") else bool(owned & revoking)

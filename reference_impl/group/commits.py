"""Who may commit offsets to a group: members of its current generation, or anybody while it is empty."""

from __future__ import annotations

from reference_impl import bugs
from reference_impl.group.classic import ClassicGroup, State
from wire import errors


def commit_refusal(
    group: ClassicGroup | None, member_id: str, instance_id: str | None, generation: int, *,
    transactional: bool, version: int,
) -> int:  # fmt: skip
    """0 when the commit may go ahead, else its error code; an absent group is open to commits without generation.

    A commit is welcome while the group calls its members back (PreparingRebalance: that is their last chance) and
    refused with 27 once a new generation waits for its assignment; a transactional one only has to name the right
    member.
    """
    if group is None:
        if generation < 0:
            return errors.NONE
        return errors.GROUP_ID_NOT_FOUND if version >= 9 and not transactional else errors.ILLEGAL_GENERATION
    if generation < 0 and group.state is State.EMPTY:
        return errors.NONE
    if generation >= 0 or member_id or instance_id is not None:
        refusal = group.refusal(member_id, instance_id)
        if not refusal and generation != group.generation:
            refusal = errors.ILLEGAL_GENERATION
        if refusal and not bugs.on("M23"):
            return refusal
    elif not transactional:
        return errors.UNKNOWN_MEMBER_ID
    if not transactional and group.state is State.COMPLETING:
        return errors.REBALANCE_IN_PROGRESS
    return errors.NONE

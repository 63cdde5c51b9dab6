"""What a group does when its coordinator resigns: everybody who waits is told to look for the new one."""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.classic import ClassicGroup
from brokertrial.reference_impl.group.effects import Effect, JoinResult, SyncResult
from brokertrial.wire import errors


def given_up(group: ClassicGroup) -> list[Effect]:
    """Answers every parked JoinGroup and SyncGroup with NOT_COORDINATOR, and stops all deadlines."""
    effects: list[Effect] = []
    for member in group.members.values():
        if member.join is not None:
            effects.append(JoinResult(member.join, errors.NOT_COORDINATOR, member.member_id))
        if member.sync is not None:
            said = errors.UNKNOWN_MEMBER_ID if bugs.on("B173") else errors.NOT_COORDINATOR
            effects.append(SyncResult(member.sync, said))
        member.join = member.sync = None
    group.deadlines.clear()
    return effects

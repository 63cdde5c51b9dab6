"""The classic group protocol: join, sync, heartbeat, leave, and what happens when time runs out.

Every function takes the group, what happened and the time, changes the group, and returns the effects in order. The
rules are those of Kafka's GroupMetadataManager for classic groups, down to which member is dropped when, and which
error it hears.
"""

from __future__ import annotations

from collections.abc import Sequence

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.group.classic import ClassicGroup, ClassicMember, GroupState
from brokertrial.reference_impl.group.effects import Effect, JoinResult, SyncResult, Ticket
from brokertrial.reference_impl.group.joining import GroupLimits, JoinRequest
from brokertrial.wire import errors

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""A new member may wait this long for its first generation, whatever its session timeout."""

_LEAST_WAIT_MS = 100
"""How soon it is asked at the earliest whether anybody of a group has joined, for members may allow no time at all."""

_JOIN, _SYNC = ("join", ""), ("sync", "")


def join(group: ClassicGroup, request: JoinRequest, ticket: Ticket, now: int, limits: GroupLimits) -> list[Effect]:
    """A member asks to be part of the next generation; it is answered now or when the generation is complete."""
    unknown = request.member_id == ""
    if not _has_room(group, request.member_id, limits):
        if not bugs.on("V88"):
            group.remove(request.member_id)
        return [JoinResult(ticket, errors.GROUP_MAX_SIZE_REACHED, "")]
    if not group.supports(request.protocol_type, {name for name, _ in request.protocols}):
        out: list[Effect] = [JoinResult(ticket, errors.INCONSISTENT_GROUP_PROTOCOL, request.member_id)]
        if bugs.on("P35"):
            _rebalance_or_complete(group, now, limits, out)
        return out
    if unknown and request.instance_id is not None and request.instance_id in group.static:
        return _static_returns(group, request, ticket, now, limits)
    if unknown and request.instance_id is None and request.id_required:
        group.pending[request.fresh_id] = None
        group.deadlines["session", request.fresh_id] = now + request.session_timeout_ms
        return [JoinResult(ticket, errors.MEMBER_ID_REQUIRED, request.fresh_id)]
    if unknown or request.member_id in group.pending:
        return _add(group, request, request.member_id or request.fresh_id, ticket, now, limits)
    if refusal := group.refusal(request.member_id, request.instance_id):
        if request.instance_id is None and bugs.on("S01"):
            return _add(group, request, request.member_id, ticket, now, limits)
        return [JoinResult(ticket, refusal, request.member_id)]
    return _rejoin(group, group.members[request.member_id], request, ticket, now, limits)


def sync(
    group: ClassicGroup, member_id: str, instance_id: str | None, generation: int, protocol_type: str | None,
    protocol: str | None, assignments: dict[str, bytes], ticket: Ticket, now: int,
) -> list[Effect]:  # fmt: skip
    """A member asks for its assignment; the leader brings everybody's."""
    if refusal := _sync_refusal(group, member_id, instance_id, generation, protocol_type, protocol):
        return [SyncResult(ticket, refusal)]
    member = group.members[member_id]
    if group.state is GroupState.PREPARING:
        return [SyncResult(ticket, errors.REBALANCE_IN_PROGRESS)]
    group.awaited.discard(member_id)
    if not group.awaited:
        group.deadlines.pop(_SYNC, None)
    if group.state is GroupState.STABLE:
        if assignments and bugs.on("Q06"):
            member.assignment = assignments.get(member_id, b"")
        return [SyncResult(ticket, errors.NONE, group.protocol_type, group.protocol, member.assignment)]
    member.sync = member.sync if member.sync is not None and bugs.on("B122") else ticket
    if group.leader != member_id:
        return []
    out: list[Effect] = [group.saved(assignments)]
    for each in group.members.values():
        if each.member_id != member_id and each.assignment and bugs.on("M24a"):
            continue
        each.assignment = assignments.get(each.member_id, b"")
    _answer_syncs(group, errors.NONE, now, out)
    group.move_to(GroupState.STABLE)
    return out


def heartbeat(group: ClassicGroup, member_id: str, instance_id: str | None, generation: int, now: int) -> int:
    """A sign of life; the error code tells the member whether it must rejoin."""
    if refusal := group.refusal(member_id, instance_id):
        return errors.NONE if bugs.on("P41") else refusal
    if generation != group.generation:
        if bugs.on("D01"):
            keep_alive(group, group.members[member_id], now)
        return errors.ILLEGAL_GENERATION
    keep_alive(group, group.members[member_id], now)
    called = group.state is GroupState.PREPARING and not bugs.on("N04")
    called = called or (group.state is GroupState.COMPLETING and bugs.on("G02"))
    return errors.REBALANCE_IN_PROGRESS if called else errors.NONE


def leave(
    group: ClassicGroup, leavers: Sequence[tuple[str, str | None]], now: int, limits: GroupLimits
) -> tuple[list[int], list[Effect]]:
    """Removes members by id or by instance id; one error code for each, and one rebalance for all of them."""
    codes: list[int] = []
    out: list[Effect] = []
    for member_id, instance_id in leavers:
        code = errors.NONE
        if member_id == "":
            held = group.static.get(instance_id) if instance_id is not None else None
            if held is None:
                code = errors.UNKNOWN_MEMBER_ID
            elif not (codes and bugs.on("V01")):
                _expel(group, held, out)
        elif member_id in group.pending:
            if not bugs.on("S02"):
                group.remove(member_id)
        elif not (code := group.refusal(member_id, instance_id)):
            _expel(group, member_id, out)
        codes.append(code)
    if errors.NONE in (codes[-1:] if bugs.on("B334") else codes) or bugs.on("V02"):
        if group.state in (GroupState.STABLE, GroupState.COMPLETING):
            _rebalance_or_complete(group, now, limits, out)
        elif group.state is GroupState.PREPARING:
            _complete_if_all_joined(group, now, out)
    return codes, out


def tick(group: ClassicGroup, now: int, limits: GroupLimits) -> list[Effect]:
    """Acts on every deadline that is due, the oldest first."""
    out: list[Effect] = []
    while due := [(at, key) for key, at in group.deadlines.items() if at <= now]:
        _, key = min(due)
        del group.deadlines[key]
        kind, member_id = key
        if kind == "session":
            _silence(group, member_id, now, limits, out)
        elif kind == "sync":
            _sync_expired(group, now, limits, out)
        else:
            _join_expired(group, now, limits, out)
    return out


def keep_alive(group: ClassicGroup, member: ClassicMember, now: int, timeout_ms: int | None = None) -> None:
    """Starts a member's session anew."""
    session_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
    if bugs.on("M26b"):
        session_ms //= 2
    group.deadlines["session", member.member_id] = now + session_ms


def loaded(group: ClassicGroup, now: int, limits: GroupLimits) -> list[Effect]:
    """Starts the sessions of a group that was read back from the log: its members may or may not still be there."""
    out: list[Effect] = []
    if bugs.on("M25"):
        return out
    for member in group.members.values():
        keep_alive(group, member, now)
    if len(group.members) > limits.max_size and not bugs.on("V89"):
        _prepare(group, now, limits, out)
    return out


# -- joining ---------------------------------------------------------------------------------------------------


def _has_room(group: ClassicGroup, member_id: str, limits: GroupLimits) -> bool:
    member = group.members.get(member_id)
    if group.state is GroupState.PREPARING:
        waits = member is not None and member.join is not None and not bugs.on("V86")
        return waits or (len(group.members) if bugs.on("V87") else group.waiting()) < limits.max_size
    return group.state is GroupState.EMPTY or member is not None or len(group.members) < limits.max_size


def _add(
    group: ClassicGroup, request: JoinRequest, member_id: str, ticket: Ticket, now: int, limits: GroupLimits
) -> list[Effect]:
    member = ClassicMember(
        member_id, request.instance_id, request.client_id, request.client_host, request.rebalance_timeout_ms,
        request.session_timeout_ms, request.protocols, is_new=True, join=ticket,
    )  # fmt: skip
    if group.state is GroupState.PREPARING and group.generation == 0:
        group.grew = True
    group.add(member, request.protocol_type)
    keep_alive(group, member, now, NEW_MEMBER_JOIN_TIMEOUT_MS)
    if group.state is GroupState.PREPARING and group.was is not GroupState.EMPTY and bugs.on("B282"):
        group.deadlines[_JOIN] = now + group.rebalance_timeout_ms()
    out: list[Effect] = []
    _rebalance_or_complete(group, now, limits, out)
    if bugs.on("M27b"):
        group.generation += 1
    return out


def _rejoin(
    group: ClassicGroup, member: ClassicMember, request: JoinRequest, ticket: Ticket, now: int, limits: GroupLimits
) -> list[Effect]:
    unchanged = member.offers(request.protocols)
    leads = group.leader == member.member_id
    if group.state is GroupState.EMPTY:
        return [JoinResult(ticket, errors.UNKNOWN_MEMBER_ID, member.member_id)]
    awaits = group.state is GroupState.COMPLETING and not bugs.on("G01")
    if unchanged and (awaits or (group.state is GroupState.STABLE and not leads)):
        return [_welcome(group, member, ticket)]
    _update(member, request, ticket)
    if member.instance_id is not None and request.instance_id is None and bugs.on("G03"):
        group.static.pop(member.instance_id)
        member.instance_id = None
    out: list[Effect] = []
    _rebalance_or_complete(group, now, limits, out)
    return out


def _static_returns(
    group: ClassicGroup, request: JoinRequest, ticket: Ticket, now: int, limits: GroupLimits
) -> list[Effect]:
    """A restarted static member takes its old place; in a stable group nobody else notices (KIP-345)."""
    instance_id = request.instance_id or ""
    leader_before = group.leader
    member, out = group.replace(instance_id, group.static[instance_id], request.fresh_id)
    keep_alive(group, member, now)
    waited_for_ms = member.rebalance_timeout_ms
    _update(member, request, ticket)
    if bugs.on("K10"):
        member.rebalance_timeout_ms = waited_for_ms
    if group.state is GroupState.PREPARING:
        _complete_if_all_joined(group, now, out)
    elif group.state is GroupState.COMPLETING:
        _prepare(group, now, limits, out)
    elif group.elected_protocol() != group.protocol or bugs.on("P43"):
        _rebalance_or_complete(group, now, limits, out)
    else:
        member.join = None
        leads = group.leader == member.member_id
        out.append(group.saved())
        if request.may_skip_assignment:
            out.append(_welcome(group, member, ticket, skip_assignment=leads))
        else:
            out.append(
                JoinResult(
                    ticket, errors.NONE, member.member_id, group.generation, group.protocol_type, group.protocol,
                    leader_before or "",
                )
            )  # fmt: skip
    return out


def _update(member: ClassicMember, request: JoinRequest, ticket: Ticket) -> None:
    member.protocols = request.protocols
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    if not bugs.on("D07"):
        member.session_timeout_ms = request.session_timeout_ms
    member.join = member.join if member.join is not None and bugs.on("B119") else ticket


def _welcome(group: ClassicGroup, member: ClassicMember, ticket: Ticket, skip_assignment: bool = False) -> JoinResult:
    return JoinResult(
        ticket, errors.NONE, member.member_id, group.generation, group.protocol_type, group.protocol,
        group.leader or "", skip_assignment, group.roster() if group.leader == member.member_id else (),
    )  # fmt: skip


# -- rebalancing -----------------------------------------------------------------------------------------------


def _rebalance_or_complete(group: ClassicGroup, now: int, limits: GroupLimits, out: list[Effect]) -> None:
    if group.state is GroupState.PREPARING:
        _complete_if_all_joined(group, now, out)
    else:
        _prepare(group, now, limits, out)


def _prepare(group: ClassicGroup, now: int, limits: GroupLimits, out: list[Effect]) -> None:
    """Calls everybody back; an empty group waits a little for company, others for all of their members."""
    if group.state is GroupState.COMPLETING:
        for member in group.members.values():
            member.assignment = b""
        None if bugs.on("B306") else _answer_syncs(group, errors.REBALANCE_IN_PROGRESS, now, out)
    group.awaited.clear()
    group.deadlines.pop(_SYNC, None)
    first = group.state is GroupState.EMPTY and not (group.generation and bugs.on("Z48"))
    group.move_to(GroupState.PREPARING)
    if first:
        group.initial_wait = (
            limits.initial_delay_ms,
            max(group.rebalance_timeout_ms() - limits.initial_delay_ms, 0),
        )
        group.deadlines[_JOIN] = now + limits.initial_delay_ms
    elif group.all_joined():
        _complete(group, now, out)
    else:
        group.deadlines[_JOIN] = now + group.rebalance_timeout_ms()


def _complete_if_all_joined(group: ClassicGroup, now: int, out: list[Effect]) -> None:
    """Ends the join phase early when nobody is missing; the first rebalance of an empty group keeps its delay."""
    if group.state is GroupState.PREPARING and group.was is not GroupState.EMPTY and group.all_joined():
        _complete(group, now, out)


def _join_expired(group: ClassicGroup, now: int, limits: GroupLimits, out: list[Effect]) -> None:
    if group.state is not GroupState.PREPARING:
        return
    delay, remaining = group.initial_wait
    if group.was is GroupState.EMPTY and group.grew and remaining > 0 and not bugs.on("V90"):
        group.grew = False
        group.initial_wait = min(limits.initial_delay_ms, remaining), max(remaining - delay * (not bugs.on("B62")), 0)
        group.deadlines[_JOIN] = now + group.initial_wait[0]
        return
    _complete(group, now, out)


def _complete(group: ClassicGroup, now: int, out: list[Effect]) -> None:
    """The join phase is over: whoever is missing is dropped (static members stay), the rest form a generation."""
    group.deadlines.pop(_JOIN, None)
    for member in [m for m in group.members.values() if m.join is None and m.instance_id is None]:
        group.remove(member.member_id)
    if not group.elect_leader() and group.members:
        group.deadlines[_JOIN] = now + max(group.rebalance_timeout_ms(), _LEAST_WAIT_MS)
        return
    if not bugs.on("M27"):
        group.generation += 1
    group.choose_protocol()
    group.awaited.clear()
    if not group.members:
        group.move_to(GroupState.EMPTY)
        out.append(group.saved())
        return
    group.move_to(GroupState.COMPLETING)
    for member in group.members.values():
        if member.join is not None:
            out.append(_welcome(group, member, member.join))
            member.join = None
        if not bugs.on("D05"):
            keep_alive(group, member, now)
        member.is_new = False
        group.awaited.add(member.member_id)
    group.deadlines[_SYNC] = now + group.rebalance_timeout_ms()


# -- members that fall silent ------------------------------------------------------------------------------------


def _silence(group: ClassicGroup, member_id: str, now: int, limits: GroupLimits, out: list[Effect]) -> None:
    member = group.members.get(member_id)
    if member is None:
        group.remove(member_id)
    elif member.heard() or bugs.on("M26"):
        return
    else:
        _expel(group, member_id, out)
    if group.state in (GroupState.STABLE, GroupState.COMPLETING) and (member or member_id in group.dropped):
        _prepare(group, now, limits, out)
    elif group.state is GroupState.PREPARING and group.all_joined():
        _complete(group, now, out)


def _sync_expired(group: ClassicGroup, now: int, limits: GroupLimits, out: list[Effect]) -> None:
    if group.state not in (GroupState.COMPLETING, GroupState.STABLE) or not group.awaited or bugs.on("M26c"):
        return
    for member_id in sorted(group.awaited):
        group.remove(member_id)
    _prepare(group, now, limits, out)


def _expel(group: ClassicGroup, member_id: str, out: list[Effect]) -> None:
    member = group.members[member_id]
    if member.join is not None:
        left = errors.REBALANCE_IN_PROGRESS if bugs.on("S16") else errors.UNKNOWN_MEMBER_ID
        out.append(JoinResult(member.join, left, ""))
        member.join = None
    if member.sync is not None:
        out.append(SyncResult(member.sync, errors.UNKNOWN_MEMBER_ID))
        member.sync = None
    group.remove(member_id)


def _answer_syncs(group: ClassicGroup, error: int, now: int, out: list[Effect]) -> None:
    for member in group.members.values():
        if member.sync is None:
            continue
        kind = (None, None) if error else (group.protocol_type, group.protocol)
        out.append(SyncResult(member.sync, error, *kind, member.assignment))
        member.sync = None
        if not bugs.on("D06"):
            keep_alive(group, member, now)


def _sync_refusal(
    group: ClassicGroup, member_id: str, instance_id: str | None, generation: int, protocol_type: str | None,
    protocol: str | None,
) -> int:  # fmt: skip
    if group.state is GroupState.EMPTY:
        return errors.UNKNOWN_MEMBER_ID
    if generation != group.generation and bugs.on("D10"):
        return errors.ILLEGAL_GENERATION
    if refusal := group.refusal(member_id, instance_id):
        return refusal
    if generation != group.generation:
        return errors.ILLEGAL_GENERATION
    fits = protocol_type in (None, group.protocol_type) and protocol in (None, group.protocol)
    return errors.NONE if fits else errors.INCONSISTENT_GROUP_PROTOCOL

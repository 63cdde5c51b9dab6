"""JoinGroup 0-9: a member asks to be part of the next generation of a classic group.

Answered when all members have joined or the longest rebalance timeout is over. v4: a dynamic member without an id
gets one and comes back with it (79). v5: static members; a returning one takes its old place without a rebalance (v9:
its leader skips the assignment).
Errors: 24 empty group id, 26 session timeout out of bounds, 23 no common protocol, 25 unknown member, 81 group full,
82 fenced.
Gaps: no conversion between classic and KIP-848 groups.
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.group.effects import JoinResult
from brokertrial.reference_impl.group.joining import JoinRequest
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("JoinGroup", 0, 9)
async def join_group(request: Struct, context: Context) -> Struct:
    """Parks the request until the generation is complete."""
    config = context.node.config
    if not request.group_id and not bugs.on("P37"):
        return _refused(errors.INVALID_GROUP_ID, request, context)
    if context.client_id is None and bugs.on("R21"):
        return _refused(errors.UNKNOWN_SERVER_ERROR, request, context)
    low, high = config["group.min.session.timeout.ms"], config["group.max.session.timeout.ms"]
    if not low <= request.session_timeout_ms <= high and not bugs.on("P42"):
        return _refused(errors.INVALID_SESSION_TIMEOUT, request, context)
    groups = context.node.groups
    joined = await groups.join(
        request.group_id,
        JoinRequest(
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            client_id=context.client_id or "",
            client_host=f"/{context.client_host}",
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=_rebalance_timeout_ms(request, context),
            protocol_type=request.protocol_type,
            protocols=tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
            fresh_id=groups.fresh_member_id(request.group_instance_id or context.client_id or ""),
            id_required=context.version >= 4 and not bugs.on("P36"),
            may_skip_assignment=context.version >= 9,
        ),
    )
    return _answer(joined, context.version)


def _rebalance_timeout_ms(request: Struct, context: Context) -> int:
    """Version 0 has none of its own."""
    has_one = context.version >= 1 or bugs.on("Q14")
    return int(request.rebalance_timeout_ms if has_one else request.session_timeout_ms)


def _refused(error: int, request: Struct, context: Context) -> Struct:
    nothing = None if context.version >= 7 else ""
    return response("JoinGroup", error_code=error, member_id=request.member_id, protocol_name=nothing)


def _answer(joined: JoinResult, version: int) -> Struct:
    if version < 5 and any(member.instance_id for member in joined.members) and bugs.on("K05"):
        return response("JoinGroup", error_code=errors.UNSUPPORTED_VERSION, protocol_name="")
    return response(
        "JoinGroup",
        error_code=joined.error,
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=(joined.protocol or None) if version >= 7 else joined.protocol or "",
        leader=joined.leader,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[
            {"member_id": m.member_id, "group_instance_id": m.instance_id, "metadata": m.metadata}
            for m in joined.members[: 8 if bugs.on("B296") else None]
        ],
    )

"""SyncGroup 0-5: a member asks for its part of the assignment; the leader brings everybody's.

Followers wait for the leader. The bytes are handed over untouched. Errors: 24 empty group id, 25, 22, 82, 27 while
the group calls its members back, 23 when the protocol named is not the one chosen, or (v5) none is named.
"""

from __future__ import annotations

from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("SyncGroup", 0, 5)
async def sync_group(request: Struct, context: Context) -> Struct:
    """Parks the request until the leader has spoken."""
    if context.version >= 5 and (request.protocol_type is None or request.protocol_name is None):
        return response("SyncGroup", error_code=errors.INCONSISTENT_GROUP_PROTOCOL)
    if not request.group_id:
        return response("SyncGroup", error_code=errors.INVALID_GROUP_ID)
    synced = await context.node.groups.sync(
        request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments={each.member_id: bytes(each.assignment) for each in request.assignments},
    )
    return response(
        "SyncGroup",
        error_code=synced.error,
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol,
        assignment=synced.assignment,
    )

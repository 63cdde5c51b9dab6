"""Heartbeat 0-4: a member is alive, and hears whether it must rejoin.

27 only while the group calls its members back (PreparingRebalance); while the leader works on the assignment there is
no error.
Errors: 24 empty group id, 25 unknown member or group, 22 another generation, 82 fenced instance id.
"""

from __future__ import annotations

from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("Heartbeat", 0, 4)
def heartbeat(request: Struct, context: Context) -> Struct:
    """Starts the session anew."""
    if not request.group_id:
        return response("Heartbeat", error_code=errors.INVALID_GROUP_ID)
    groups = context.node.groups
    code = groups.heartbeat(request.group_id, request.member_id, request.group_instance_id, request.generation_id)
    return response("Heartbeat", error_code=code)

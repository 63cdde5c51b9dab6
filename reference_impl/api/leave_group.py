"""LeaveGroup 0-5: members go, and the rest rebalance at once.

v3 names several, by member id or by instance id alone, and answers each. v0-2 name one, whose code is the answer's own.
Errors: 24 empty group id, 25, 82.
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("LeaveGroup", 0, 5)
def leave_group(request: Struct, context: Context) -> Struct:
    """Removes every named member that is there."""
    if not request.group_id and context.version < 3 and bugs.on("K06"):
        return response("LeaveGroup", error_code=errors.UNSUPPORTED_VERSION)
    if not request.group_id:
        return response("LeaveGroup", error_code=errors.INVALID_GROUP_ID)
    if context.version < 3:
        (code,) = context.node.groups.leave(request.group_id, [(request.member_id, None)])
        return response("LeaveGroup", error_code=code)
    leavers = [(member.member_id, member.group_instance_id) for member in request.members]
    if bugs.on("N05"):
        codes = [errors.NONE] * len(leavers)
    else:
        codes = context.node.groups.leave(request.group_id, leavers)
    return response(
        "LeaveGroup",
        members=[
            {"member_id": member_id, "group_instance_id": instance_id, "error_code": code}
            for (member_id, instance_id), code in zip(leavers, codes, strict=True)
        ],
    )

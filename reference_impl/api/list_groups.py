"""ListGroups 0-5: every group of this coordinator, once; filtered by state (v4) and by type (v5), in any case.

Simple groups (offsets only) are listed as Empty with an empty protocol type. Errors: 14 while any are being read back.
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.coordinator.loading import lists_what_is_read
from brokertrial.reference_impl.group.classic import ClassicGroup, GroupState
from brokertrial.reference_impl.group.consumer import ConsumerGroup
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("ListGroups", 0, 5)
def list_groups(request: Struct, context: Context) -> Struct:
    """All groups that pass both filters; an empty filter lets everything through."""
    if (not context.client_id and bugs.on("M39l")) or (request._unknown_tags and bugs.on("M39m")):
        return response("ListGroups", error_code=errors.INVALID_REQUEST)
    if context.node.groups.loads and not lists_what_is_read():
        return response("ListGroups", error_code=errors.COORDINATOR_LOAD_IN_PROGRESS)
    states = {state.lower() for state in request.states_filter}
    if bugs.on("U20"):
        states &= {state.value.lower() for state in GroupState}
    types = set() if states and bugs.on("Q08") else {kind.lower() for kind in request.types_filter}
    groups = [
        {
            "group_id": group.group_id,
            "protocol_type": group.protocol_type or "",
            "group_state": group.state.value,
            "group_type": _type(group),
        }
        for group in context.node.groups.all()
        if group.logged and (not states or group.state.value.lower() in states) and (not types or _type(group) in types)
    ]
    return response("ListGroups", groups=[*groups, *groups[: 1 if bugs.on("P39") else 0]])


def _type(group: ClassicGroup | ConsumerGroup) -> str:
    return "consumer" if isinstance(group, ConsumerGroup) else "classic"

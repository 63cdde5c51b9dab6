"""DescribeGroups 0-6: state, protocol and members of classic groups.

An absent group is Dead; that is no error up to v5 and GROUP_ID_NOT_FOUND (69) from v6 (KIP-1043). Protocol and the
members' metadata are shown only while the group is Stable.
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.group.classic import ClassicGroup, GroupState
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

ALLOWED = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
"""Without authorisation everything that exists for a group: read, delete, describe, and its configs."""
_NOT_ASKED = -(1 << 31)


@handles("DescribeGroups", 0, 6)
def describe_groups(request: Struct, context: Context) -> Struct:
    """One description for each group asked for, in order."""
    allowed = ALLOWED if request.include_authorized_operations else _NOT_ASKED
    asked = dict.fromkeys(request.groups) if bugs.on("U24") else request.groups
    return response("DescribeGroups", groups=[_describe(group, context, allowed) for group in asked])


def _describe(group_id: str, context: Context, allowed: int) -> dict[str, object]:
    group = context.node.groups.classic(group_id)
    if group is not None and group.logged:
        return {**_of(group), "authorized_operations": allowed}
    consumers = context.node.groups.find(group_id) is not None
    if context.version < 6:
        return {"group_id": group_id, "group_state": "Dead", "authorized_operations": allowed}
    return {
        "group_id": group_id,
        "group_state": "Dead",
        "error_code": errors.GROUP_ID_NOT_FOUND,
        "error_message": f"Group {group_id} {'is not a classic group' if consumers else 'not found'}.",
    }


def _of(group: ClassicGroup) -> dict[str, object]:
    stable = group.state is GroupState.STABLE
    return {
        "group_id": group.group_id,
        "group_state": group.state.value,
        "protocol_type": group.protocol_type or "",
        "protocol_data": (group.protocol or "") if stable else "",
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "member_metadata": b""
                if not stable
                else member.assignment
                if bugs.on("P40")
                else member.metadata(group.protocol),
                "member_assignment": member.assignment,
            }
            for member in group.members.values()
        ],
    }

"""DeleteGroups 0-3: forgets empty groups with all their offsets. Errors: 68 it has members, 69 there is none."""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_MESSAGES = {
    errors.NON_EMPTY_GROUP: "The group is not empty.",
    errors.GROUP_ID_NOT_FOUND: "The group id does not exist.",
}


@handles("DeleteGroups", 0, 3)
def delete_groups(request: Struct, context: Context) -> Struct:
    """Each group on its own: one that cannot go does not keep the others."""
    results = []
    for number, group_id in enumerate(dict.fromkeys(request.groups_names)):
        late = number >= 1_000 and bugs.on("B289")
        code = errors.GROUP_ID_NOT_FOUND if late else context.node.groups.delete(group_id)
        if code == errors.NON_EMPTY_GROUP and bugs.on("N03"):
            code = errors.NONE
        results.append({"group_id": group_id, "error_code": code, "error_message": _MESSAGES.get(code)})
    return response("DeleteGroups", results=results)

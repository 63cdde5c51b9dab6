"""ConsumerGroupDescribe 0-1 (KIP-848): a group's epochs, and what each member owns and should own.

Errors by group: 35 the group protocol is off, 24 empty id, 69 no such group, or one of the classic protocol. v1 tells
the protocol of each member: always the consumer's here.
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.describe_groups import ALLOWED
from brokertrial.reference_impl.group.consumer import NOTHING, ConsumerGroup, ConsumerMember, Parts
from brokertrial.reference_impl.group.consumer_layout import topics_of
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_NOT_ASKED = -(1 << 31)
_CONSUMER_MEMBER = 1


@handles("ConsumerGroupDescribe", 0, 1)
def consumer_group_describe(request: Struct, context: Context) -> Struct:
    """One description for each group asked for, in order."""
    allowed = ALLOWED if request.include_authorized_operations else _NOT_ASKED
    asked = request.group_ids * (2 if bugs.on("K08") else 1)
    if "" in asked and bugs.on("K41"):
        spoilt = [{"group_id": group_id, "error_code": errors.UNKNOWN_SERVER_ERROR} for group_id in asked]
        return response("ConsumerGroupDescribe", groups=spoilt)
    return response("ConsumerGroupDescribe", groups=[_describe(g, context, allowed) for g in asked])


def _describe(group_id: str, context: Context, allowed: int) -> dict[str, Any]:
    groups = context.node.groups
    if context.node.feature("group.version") < 1:
        return {"group_id": group_id, "error_code": errors.UNSUPPORTED_VERSION}
    if not group_id:
        return {"group_id": group_id, "error_code": errors.INVALID_GROUP_ID}
    group = groups.consumer.find(group_id)
    if group is None:
        why = "not found" if groups.find(group_id) is None else "is not a consumer group"
        message = f"Group {group_id} {why}."
        return {"group_id": group_id, "error_code": errors.GROUP_ID_NOT_FOUND, "error_message": message}
    return {
        "group_id": group_id,
        "group_state": group.state.value,
        "group_epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor_name": group.assignor(),
        "members": [_member(member, group, context) for member in group.members.values()],
        "authorized_operations": allowed,
    }


def _member(member: ConsumerMember, group: ConsumerGroup, context: Context) -> dict[str, Any]:
    target = member.assigned if bugs.on("U27") else group.target.get(member.member_id, NOTHING)
    return {
        "member_id": member.member_id,
        "instance_id": None if bugs.on("J16") else member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": sorted(member.names),
        "subscribed_topic_regex": member.regex or "",
        "assignment": _shown(member.assigned, context),
        "target_assignment": _shown(target, context),
        "member_type": _CONSUMER_MEMBER,
    }


def _shown(parts: Parts, context: Context) -> dict[str, Any]:
    """Partitions with their topics' names; a topic that is gone is left out, as in Kafka."""
    named = [(context.node.topics.by_id(topic["topic_id"]), topic) for topic in topics_of(parts)]
    return {"topic_partitions": [{**topic, "topic_name": known.name} for known, topic in named if known is not None]}

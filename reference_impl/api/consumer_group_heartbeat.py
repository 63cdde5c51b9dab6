"""ConsumerGroupHeartbeat 0-1 (KIP-848): the one request of a member: join, stay, own, leave.

v0: the broker makes the member's id; v1: the member does, and may subscribe by a regular expression. Names, pattern,
assignor and owned partitions are said when they change; what is not said stays.
Errors: 35 the group protocol is off (group.version 0), 42 what a request must or must not hold, 112 no such assignor,
128 no such pattern, 69 no such group, 25 no such member, 110 fenced by epoch, 82 and 111 fenced by instance id, 81 too
many members.
Patterns are RE2's. Gaps: members of the classic protocol cannot be in the same group (69).
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS
from brokertrial.reference_impl.group.assignors import ASSIGNORS
from brokertrial.reference_impl.group.consumer import LEFT, LEFT_FOR_A_WHILE
from brokertrial.reference_impl.group.consumer_effects import Refusal
from brokertrial.reference_impl.group.consumer_heartbeat import Heartbeat
from brokertrial.reference_impl.group.consumer_layout import topics_of
from brokertrial.reference_impl.patterns import NoPattern, Pattern
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("ConsumerGroupHeartbeat", 0, 1)
def consumer_group_heartbeat(request: Struct, context: Context) -> Struct:
    """Checks the request's shape, then asks the group."""
    node = context.node
    if node.feature("group.version") < 1:
        return response("ConsumerGroupHeartbeat", error_code=errors.UNSUPPORTED_VERSION)
    node.ensure_internal(CONSUMER_OFFSETS)
    answer = _misshapen(request, context.version) or node.groups.consumer.heartbeat(
        request.group_id, _freed(request, context)
    )
    if isinstance(answer, Refusal):
        return response("ConsumerGroupHeartbeat", error_code=answer.error, error_message=answer.message)
    assignment = None if answer.assignment is None else {"topic_partitions": topics_of(answer.assignment)}
    stays = answer.epoch not in (LEFT, LEFT_FOR_A_WHILE)
    interval = (
        int(node.group_setting("" if bugs.on("D12") else request.group_id, "consumer.heartbeat.interval.ms"))
        if stays and not bugs.on("P31")
        else 0
    )
    return response(
        "ConsumerGroupHeartbeat",
        member_id=answer.member_id,
        member_epoch=answer.epoch,
        heartbeat_interval_ms=interval,
        assignment=assignment,
    )


def _freed(request: Struct, context: Context) -> Heartbeat:
    owned, names = request.topic_partitions, request.subscribed_topic_names
    return Heartbeat(
        member_id=request.member_id or context.node.groups.fresh_member_id(context.client_id or ""),
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        names=None if names is None else frozenset(names),
        regex=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=None if owned is None else frozenset((t.topic_id, index) for t in owned for index in t.partitions),
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
    )


def _misshapen(request: Struct, version: int) -> Refusal | None:
    """Why no group would look at this request."""
    for value, name in (
        (request.group_id, "GroupId"),
        (request.instance_id, "InstanceId"),
        (request.rack_id, "RackId"),
    ):
        if value is not None and not value.strip():
            return Refusal(errors.INVALID_REQUEST, f"{name} can't be empty.")
    nameless = not request.member_id.strip()
    if nameless and (version >= 1 or request.member_epoch != 0):
        return Refusal(errors.INVALID_REQUEST, "MemberId can't be empty.")
    if request.member_epoch == 0 and (problem := _half_joined(request)) and not bugs.on("P32"):
        return Refusal(errors.INVALID_REQUEST, problem)
    if request.member_epoch == LEFT_FOR_A_WHILE and request.instance_id is None:
        return Refusal(errors.INVALID_REQUEST, "InstanceId can't be null.")
    if request.member_epoch < LEFT_FOR_A_WHILE:
        return Refusal(errors.INVALID_REQUEST, f"MemberEpoch is invalid: {request.member_epoch}.")
    if request.server_assignor is not None and request.server_assignor not in ASSIGNORS:
        return Refusal(
            errors.INVALID_REQUEST if bugs.on("P33") else errors.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(ASSIGNORS)}.",
        )
    return _no_pattern(request.subscribed_topic_regex)


def _half_joined(request: Struct) -> str:
    """What a request that joins must say and does not."""
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    return ""


def _no_pattern(text: str | None) -> Refusal | None:
    try:
        Pattern(text or "")
    except NoPattern as error:
        return Refusal(
            errors.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{text}` is not a valid regular expression: {error}.",
        )
    return None

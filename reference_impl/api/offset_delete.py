"""OffsetDelete 0: forgets single offsets of a group.

Errors: 69 no such group, 24 empty group id, 68 members of another protocol than
the consumer's; by partition 3 when there is none, 86 while the group subscribes to the topic.
"""

from __future__ import annotations

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.group.classic import CONSUMER, GroupState
from brokertrial.reference_impl.group.consumer import ConsumerGroup
from brokertrial.reference_impl.group.layout import OffsetKey
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("OffsetDelete", 0, 0)
def offset_delete(request: Struct, context: Context) -> Struct:
    """Deletes what may go, and says so partition by partition."""
    groups, topics = context.node.groups, context.node.topics
    if not request.group_id:
        return response("OffsetDelete", error_code=errors.INVALID_GROUP_ID)
    group = groups.find(request.group_id)
    if group is None:
        return response("OffsetDelete", error_code=errors.GROUP_ID_NOT_FOUND)
    if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER:
        return response("OffsetDelete", error_code=errors.NON_EMPTY_GROUP)
    there = set(groups.offsets_of(request.group_id).keys_of_group(request.group_id))
    gone: list[OffsetKey] = []
    answered = []
    for asked in request.topics:
        topic = topics.get(asked.name)
        partitions = []
        for index in (p.partition_index for p in asked.partitions):
            code = errors.NONE
            if topic is None or not 0 <= index < topic.partitions:
                code = errors.UNKNOWN_TOPIC_OR_PARTITION
            elif group.subscribes(asked.name) and not (isinstance(group, ConsumerGroup) and bugs.on("U22")):
                code = errors.GROUP_SUBSCRIBED_TO_TOPIC
            elif (key := OffsetKey(request.group_id, asked.name, index)) in there and not bugs.on("N02"):
                gone.append(key)
            partitions.append({"partition_index": index, "error_code": code})
        answered.append({"name": asked.name, "partitions": partitions})
    if bugs.on("Q05"):
        gone = [key for key in there if key.topic in {each.topic for each in gone}]
    groups.forget(request.group_id, gone)
    return response("OffsetDelete", topics=answered)

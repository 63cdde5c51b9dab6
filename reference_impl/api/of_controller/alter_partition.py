"""AlterPartition 2-3: a leader says who is in sync; compare-and-set on leader epoch and partition epoch.

Errors by partition: 74 an older leader epoch, 95 an older partition epoch, 107 a member that is fenced or of another
incarnation, 42 not the leader or not a replica, 100 unknown topic; for all: 77 an older broker epoch.
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("AlterPartition", 2, 3, of_controller=True)
def alter_partition(request: Struct, context: Context) -> Struct:
    """Each partition on its own."""
    topics = [
        {"topic_id": topic.topic_id, "partitions": [_altered(request, topic, p, context) for p in topic.partitions]}
        for topic in request.topics
    ]
    return response("AlterPartition", topics=topics)


def _altered(request: Struct, topic: Struct, part: Struct, context: Context) -> dict[str, Any]:
    controller = context.node.controller
    members = [(one.broker_id, one.broker_epoch) for one in part.new_isr_with_epochs]
    if context.version < 3:
        members = [(one, -1) for one in part.new_isr]
    error = controller.alter_isr(
        request.broker_id, request.broker_epoch, topic.topic_id, part.partition_index, part.leader_epoch,
        part.partition_epoch, members,
    )  # fmt: skip
    answer = {"partition_index": part.partition_index, "error_code": error}
    now = controller.placement(topic.topic_id, part.partition_index)
    if error == errors.NONE and now is not None:
        answer |= {
            "leader_id": now.leader, "leader_epoch": now.leader_epoch, "isr": now.isr,
            "partition_epoch": now.partition_epoch,
        }  # fmt: skip
    return answer

"""OffsetForLeaderEpoch (KIP-101, KIP-320): where a leader's writing ended, for clients that look for truncation.

Versions 2-4. The current epoch ends at the log's end; an epoch that nobody had gives the one before it; a later one
than ours gives (-1, -1). `current_leader_epoch` is checked: 74, 75. Unknown partition: 3.
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("OffsetForLeaderEpoch", 2, 4)
def offset_for_leader_epoch(request: Struct, context: Context) -> Struct:
    """Looks each partition up on its own."""
    return response(
        "OffsetForLeaderEpoch",
        topics=[
            {"topic": topic.topic, "partitions": [_look_up(topic.topic, part, context) for part in topic.partitions]}
            for topic in request.topics
        ],
    )


def _look_up(name: str, part: Struct, context: Context) -> dict[str, Any]:
    partition = context.node.led(name, part.partition, part.current_leader_epoch)
    if isinstance(partition, int):
        if context.node.partition(name, part.partition) is None and bugs.on("Z45"):
            partition = errors.UNKNOWN_TOPIC_OR_PARTITION
        return {"partition": part.partition, "error_code": partition}
    if error := partition.check_epoch(part.current_leader_epoch):
        return {"partition": part.partition, "error_code": error}
    epoch, end = partition.log.epochs.end_offset(part.leader_epoch, partition.log.end_offset)
    return {"partition": part.partition, "error_code": errors.NONE, "leader_epoch": epoch, "end_offset": end}

"""DeleteRecords (KIP-107): moves the start of a partition's log forward, to an offset or (-1) to the high watermark.

Versions 0-2. Above the high watermark or below -1: OFFSET_OUT_OF_RANGE; at or below the log's start: success, nothing
moves; a topic that is only compacted: POLICY_VIOLATION; unknown partition: 3; internal topic: 17. The new start is
durable before the answer.
"""

from __future__ import annotations

from typing import Any

from reference_impl.api import Context, handles
from wire import errors
from wire.messages import Struct, response


@handles("DeleteRecords", 0, 2)
def delete_records(request: Struct, context: Context) -> Struct:
    """Each partition on its own; the answer is the low watermark."""
    return response(
        "DeleteRecords",
        topics=[
            {"name": topic.name, "partitions": [_delete(topic.name, part, context) for part in topic.partitions]}
            for topic in request.topics
        ],
    )


def _delete(name: str, part: Struct, context: Context) -> dict[str, Any]:
    partition = context.node.led(name, part.partition_index)
    topic = context.node.topics.get(name)
    low_watermark = -1
    if topic is None or partition == errors.UNKNOWN_TOPIC_OR_PARTITION:
        error = errors.UNKNOWN_TOPIC_OR_PARTITION
    elif topic.internal:
        error = errors.INVALID_TOPIC_EXCEPTION
    elif isinstance(partition, int):
        error = partition
    elif partition.rules.log.compact and not partition.rules.log.delete:
        error = errors.POLICY_VIOLATION
    else:
        error, low_watermark = partition.delete_records(part.offset)
    return {"partition_index": part.partition_index, "error_code": error, "low_watermark": low_watermark}

"""DeleteRecords (KIP-107): moves the start of a partition's log forward, to an offset or (-1) to the high watermark.

Versions 0-2. Above the high watermark or below -1: OFFSET_OUT_OF_RANGE; at or below the log's start: success, nothing
moves; a topic that is only compacted: POLICY_VIOLATION; unknown partition: 3; internal topic: 17. The new start is
durable before the answer, and on every living replica, or REQUEST_TIMED_OUT when the request's time is over.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.replica.waiting import Trimmed, settled
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, child, response

_Part = child("DeleteRecords", "response", "topics.partitions")
PendingTrim = tuple[Struct, Trimmed]


@handles("DeleteRecords", 0, 2)
def delete_records(request: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """Each partition on its own; the answer is the low watermark."""
    topics, waiting = [], []
    for topic in request.topics:
        parts = []
        for part in topic.partitions:
            answer, trimmed = _delete(topic.name, part, context)
            parts.append(answer)
            if trimmed is not None and trimmed.state() is None:
                waiting.append((answer, trimmed))
        topics.append({"name": topic.name, "partitions": parts})
    answered = response("DeleteRecords", topics=topics)
    return _everywhere(answered, waiting, request.timeout_ms / 1000, context) if waiting else answered


async def _everywhere(answered: Struct, waiting: list[PendingTrim], limit_s: float, context: Context) -> Struct:
    """Followers hear of the new start with their next fetch."""
    states = await settled((trimmed for _, trimmed in waiting), context.node.clock, max(limit_s, 0.0))
    for (answer, trimmed), state in zip(waiting, states, strict=True):
        answer.error_code = state
        answer.low_watermark = trimmed.low_watermark
    return answered


def _delete(name: str, part: Struct, context: Context) -> tuple[Struct, Trimmed | None]:
    partition = context.node.led(name, part.partition_index)
    topic = context.node.topics.get(name)
    low_watermark, trimmed = -1, None
    if topic is None or partition == errors.UNKNOWN_TOPIC_OR_PARTITION:
        error = errors.UNKNOWN_TOPIC_OR_PARTITION
    elif topic.internal and not bugs.on("H25"):
        error = errors.INVALID_TOPIC_EXCEPTION
    elif isinstance(partition, int):
        error = partition
    elif partition.rules.log.compact and not partition.rules.log.delete and not bugs.on("P10"):
        error = errors.POLICY_VIOLATION
    else:
        error, low_watermark = partition.delete_records(part.offset)
        if error == errors.NONE:
            live = partial(dict, context.node.live_brokers()) if bugs.on("B59") else context.node.live_brokers
            trimmed = Trimmed(partition, low_watermark, partition.led_since, live)
            low_watermark = max(part.offset, 0) if bugs.on("F03") else trimmed.low_watermark
    answer = _Part(partition_index=part.partition_index, error_code=error, low_watermark=low_watermark)
    return answer, trimmed

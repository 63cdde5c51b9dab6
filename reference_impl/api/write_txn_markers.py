"""WriteTxnMarkers 1-2: one broker's coordinator has another's partitions end their transactions.

Answered once all markers are replicated. Errors by partition: 3 no such partition, 6 another broker leads it, 47 older
producer epoch, or (v2, of a transaction of version 2) one that does not exceed the open transaction's, 52 older
coordinator, 7 not replicated in time.
Gaps: no authorisation, so clients may send it too (Kafka without an authorizer allows the same).
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.replica.waiting import LogPosition, mark, settled
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_WITHIN_S = 3.0


@handles("WriteTxnMarkers", 1, 2)
def write_txn_markers(request: Struct, context: Context) -> Struct | Awaitable[Struct]:
    """Writes a control batch for every partition of every marker."""
    open_marks: list[tuple[dict[str, Any], LogPosition]] = []
    markers = [_written(marker, context, open_marks) for marker in request.markers]
    if open_marks:
        return _replicated(markers, open_marks, context)
    return response("WriteTxnMarkers", markers=markers)


async def _replicated(
    markers: list[dict[str, Any]], open_marks: list[tuple[dict[str, Any], LogPosition]], context: Context
) -> Struct:
    marks = [one for _, one in open_marks]
    if bugs.on("B28"):
        marks = [max(marks, key=lambda one: one.end_offset)] * len(marks)
    states = await settled(marks, context.node.clock, _WITHIN_S)
    for (line, _), state in zip(open_marks, states, strict=True):
        line["error_code"] = errors.NONE if state == errors.NOT_LEADER_OR_FOLLOWER and bugs.on("B18") else state
    return response("WriteTxnMarkers", markers=markers)


def _written(marker: Struct, context: Context, open_marks: list[tuple[dict[str, Any], LogPosition]]) -> dict[str, Any]:
    topics = []
    for topic in marker.topics:
        lines = []
        for index in topic.partition_indexes:
            error = context.node.append_marker(
                topic.name, index, marker.producer_id, marker.producer_epoch, marker.coordinator_epoch,
                marker.transaction_result, marker.transaction_version,
            )  # fmt: skip
            line = {"partition_index": index, "error_code": error}
            lines.append(line)
            partition = context.node.partition(topic.name, index)
            if error == errors.NONE and partition is not None:
                where = mark(partition)
                if where.state() is None:
                    open_marks.append((line, where))
        topics.append({"name": topic.name, "partitions": lines})
    return {"producer_id": marker.producer_id, "topics": topics}

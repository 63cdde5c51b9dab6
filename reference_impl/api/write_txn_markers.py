"""WriteTxnMarkers 1-2: one broker's coordinator has another's partitions end their transactions.

Errors by partition: 3 no such partition, 47 older producer epoch, 52 older coordinator.
Gaps: no authorisation, so clients may send it too (Kafka without an authorizer allows the same).
"""

from __future__ import annotations

from reference_impl.api import Context, handles
from wire.messages import Struct, response


@handles("WriteTxnMarkers", 1, 2)
def write_txn_markers(request: Struct, context: Context) -> Struct:
    """Writes a control batch for every partition of every marker."""
    return response("WriteTxnMarkers", markers=[_written(marker, context) for marker in request.markers])


def _written(marker: Struct, context: Context) -> dict[str, object]:
    topics = []
    for topic in marker.topics:
        lines = [
            {
                "partition_index": index,
                "error_code": context.node.append_marker(
                    topic.name, index, marker.producer_id, marker.producer_epoch, marker.coordinator_epoch,
                    marker.transaction_result,
                ),
            }
            for index in topic.partition_indexes
        ]  # fmt: skip
        topics.append({"name": topic.name, "partitions": lines})
    return {"producer_id": marker.producer_id, "topics": topics}

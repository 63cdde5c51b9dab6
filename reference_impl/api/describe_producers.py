"""DescribeProducers 0: the producers that a partition remembers, and where their open transactions begin.

Errors by partition: 3 no such partition, 17 a name that no topic can have.
"""

from __future__ import annotations

import re

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_LEGAL = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")


@handles("DescribeProducers", 0, 0)
def describe_producers(request: Struct, context: Context) -> Struct:
    """The producer table of each partition asked for."""
    topics = [
        {"name": topic.name, "partitions": [_describe(topic.name, i, context) for i in topic.partition_indexes]}
        for topic in request.topics
    ]
    return response("DescribeProducers", topics=topics)


def _describe(topic: str, index: int, context: Context) -> dict[str, object]:
    partition = context.node.led(topic, index)
    if isinstance(partition, int) and not isinstance(context.node.led(topic, 0), int) and bugs.on("S10"):
        partition = context.node.led(topic, 0)
    if isinstance(partition, int):
        error = partition if _LEGAL.fullmatch(topic) else errors.INVALID_TOPIC_EXCEPTION
        return {"partition_index": index, "error_code": error, "error_message": errors.name(error)}
    return {
        "partition_index": index,
        "active_producers": [
            {
                "producer_id": entry.producer_id,
                "producer_epoch": 0 if bugs.on("J17") else entry.epoch,
                "last_sequence": entry.last_sequence,
                "last_timestamp": entry.last_timestamp,
                "coordinator_epoch": entry.coordinator_epoch,
                "current_txn_start_offset": -1
                if entry.open_transaction is None or bugs.on("P71")
                else entry.open_transaction,
            }
            for entry in partition.producers.entries.values()
        ],
    }

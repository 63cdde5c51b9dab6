"""ElectLeaders (KIP-460): one broker leads everything, so every election that could be held is not needed.

Versions 0-2. Known partition: ELECTION_NOT_NEEDED (84), left out where all partitions were asked for; unknown: 3;
election type other than 0 and 1: INVALID_REQUEST.
"""

from __future__ import annotations

from typing import Any

from reference_impl.api import Context, handles
from reference_impl.node import Node
from wire import errors
from wire.messages import Struct, response


@handles("ElectLeaders", 0, 2)
def elect_leaders(request: Struct, context: Context) -> Struct:
    """Says of each partition that its leader is the right one."""
    if request.election_type not in (0, 1):
        return response("ElectLeaders", error_code=errors.INVALID_REQUEST)
    wanted = request.topic_partitions or []
    return response(
        "ElectLeaders",
        replica_election_results=[
            {"topic": t.topic, "partition_result": [_result(context.node, t.topic, index) for index in t.partitions]}
            for t in wanted
        ],
    )


def _result(node: Node, topic: str, index: int) -> dict[str, Any]:
    if node.partition(topic, index) is None:
        error, message = errors.UNKNOWN_TOPIC_OR_PARTITION, "No such topic or partition."
    else:
        error, message = errors.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
    return {"partition_id": index, "error_code": error, "error_message": message}

"""DescribeCluster (KIP-700): cluster id, controller and brokers; what Metadata says too.

Versions 0-2. Fenced brokers are told to who asks for them (v2+).
Endpoint type 1 (brokers) only: 2 (controllers) is MISMATCHED_ENDPOINT_TYPE, others
UNSUPPORTED_ENDPOINT_TYPE.
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles, racks
from brokertrial.reference_impl.api.broker import Broker
from brokertrial.reference_impl.api.metadata import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_WITH_FENCED = 2


@handles("DescribeCluster", 0, 2)
def describe_cluster(request: Struct, context: Context) -> Struct:
    """Describes the cluster as this node knows it."""
    node = context.node
    if request.endpoint_type != 1 and not (request.endpoint_type == 2 and bugs.on("H18")):
        wrong = errors.MISMATCHED_ENDPOINT_TYPE if request.endpoint_type == 2 else errors.UNSUPPORTED_ENDPOINT_TYPE
        message = "This is a broker's endpoint."
        return response("DescribeCluster", error_code=wrong, error_message=message, cluster_id="")
    return response(
        "DescribeCluster",
        endpoint_type=1,
        cluster_id="" if bugs.on("P01") else node.cluster_id,
        controller_id=node.shown_controller,
        brokers=_brokers(node, context.version, fenced=request.include_fenced_brokers),
        cluster_authorized_operations=(
            (TOPIC_OPERATIONS if bugs.on("H17") else CLUSTER_OPERATIONS)
            if request.include_cluster_authorized_operations or bugs.on("P02")
            else NOT_ASKED
        ),
    )


def _brokers(node: Broker, version: int, *, fenced: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"broker_id": one, "host": host, "port": port, "rack": racks.of(node, one)}
        for one, (host, port) in node.live_brokers().items()
    ]
    fenced = fenced or (version < _WITH_FENCED and bugs.on("B338"))
    gone = [one for one in node.image.brokers.values() if one.id not in node.live_brokers()] if fenced else []
    shown = version >= _WITH_FENCED and not bugs.on("H24")
    return found + [
        {"broker_id": one.id, "host": one.host, "port": one.port, "is_fenced": shown, "rack": racks.of(node, one.id)}
        for one in gone
    ]

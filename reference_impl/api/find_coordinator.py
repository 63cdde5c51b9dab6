"""FindCoordinator 0-6: who coordinates a group (type 0) or a transactional id (type 1).

One node coordinates everything that lives in the partitions it leads. The internal topic is made on the first
question; until it is there and has a leader: COORDINATOR_NOT_AVAILABLE. v4 asks for several keys at once.
Gaps: share groups (type 2) are answered INVALID_REQUEST (42); no authorisation, so never 29, 30 or 53.
"""

from __future__ import annotations

from typing import Any

from brokertrial.reference_impl import bugs
from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.first_named import first_named
from brokertrial.reference_impl.coordinator.placement import partition_for
from brokertrial.reference_impl.coordinator.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response

_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
_NOWHERE = {"node_id": -1, "host": "", "port": -1}
_MALFORMED_KEY = {"error_code": errors.INVALID_REQUEST, "error_message": _MALFORMED, **_NOWHERE}
_NOT_AVAILABLE = {
    "error_code": errors.COORDINATOR_NOT_AVAILABLE, "error_message": "The coordinator is not available.", **_NOWHERE
}  # fmt: skip
_TOPICS = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE}


@handles("FindCoordinator", 0, 6)
def find_coordinator(request: Struct, context: Context) -> Struct:
    """Names the leader of each key's partition."""
    if context.version == 2 and bugs.on("M39k"):
        return response("FindCoordinator", error_code=errors.UNSUPPORTED_VERSION, **_NOWHERE)
    keys = request.coordinator_keys if context.version >= 4 else [request.key]
    keys = list(dict.fromkeys(keys)) if bugs.on("U21") else keys
    known = request.key_type in _TOPICS
    found = [_coordinator(request.key_type, key, context) if known else _MALFORMED_KEY for key in keys]
    lost = next((each for each in found if each["error_code"] and bugs.on("B152")), None)
    found = found if lost is None else [lost] * len(found)
    if context.version >= 4:
        lines = [{"key": key, **each} for key, each in zip(keys, found, strict=True)]
        return response("FindCoordinator", coordinators=lines)
    only = found[0] if found[0]["error_code"] else {**found[0], "error_message": "NONE"}
    return response("FindCoordinator", **only)


def _coordinator(key_type: int, key: str, context: Context) -> dict[str, Any]:
    node = context.node
    topic = node.ensure_internal(_TOPICS[key_type])
    if topic is None:
        return _NOT_AVAILABLE
    leader = topic.placements[partition_for(key, topic.partitions)].leader
    live = node.live_brokers()
    if leader not in live:
        return _NOT_AVAILABLE
    host, port = live[leader]
    if bugs.on("B330"):
        host, port = first_named(node, leader, (host, port))
    return {
        "error_code": errors.NONE,
        "error_message": "",
        "node_id": leader + (90 if bugs.on("P58") else 0),
        "host": host,
        "port": port,
    }

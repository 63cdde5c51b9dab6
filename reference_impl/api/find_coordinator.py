"""FindCoordinator 0-6: who coordinates a group (type 0) or a transactional id (type 1).

One node coordinates everything that lives in the partitions it leads; with one node, that is itself. The internal
topic is made on the first question. v4 asks for several keys at once.
Gaps: share groups (type 2) are answered INVALID_REQUEST (42); no authorisation, so never 29, 30 or 53.
"""

from __future__ import annotations

from reference_impl.api import Context, handles
from wire import errors
from wire.messages import Struct, response

_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
_TOPICS = {0: "__consumer_offsets", 1: "__transaction_state"}


@handles("FindCoordinator", 0, 6)
def find_coordinator(request: Struct, context: Context) -> Struct:
    """Names this node for every key whose kind exists."""
    keys = request.coordinator_keys if context.version >= 4 else [request.key]
    error = errors.NONE if request.key_type in _TOPICS else errors.INVALID_REQUEST
    if not error:
        context.node.ensure_internal(_TOPICS[request.key_type])
    where = _here(context) if not error else {"node_id": -1, "host": "", "port": -1}
    if context.version >= 4:
        message = _MALFORMED if error else ""
        found = [{"key": key, "error_code": error, "error_message": message, **where} for key in keys]
        return response("FindCoordinator", coordinators=found)
    return response("FindCoordinator", error_code=error, error_message=_MALFORMED if error else "NONE", **where)


def _here(context: Context) -> dict[str, object]:
    node = context.node
    return {"node_id": node.config.node_id, "host": node.host, "port": node.port}

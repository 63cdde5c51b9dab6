"""BrokerHeartbeat 0-2: a sign of life, and how far the broker has read the metadata log.

A broker is unfenced once it has read its own registration. One that wants to stop gives up its leaderships first, and
is told when it may. An older incarnation: STALE_BROKER_EPOCH.
"""

from __future__ import annotations

from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire.messages import Struct, response


@handles("BrokerHeartbeat", 0, 2, of_controller=True)
def broker_heartbeat(request: Struct, context: Context) -> Struct:
    """What the controller thinks of the broker."""
    broker, epoch, node = request.broker_id, request.broker_epoch, context.node
    heard = node.controller.heartbeat(broker, epoch, request.current_metadata_offset, stop=request.want_shut_down)
    node.when_closed(context.connection_id, lambda: node.controller.disconnected(broker, epoch))
    return response(
        "BrokerHeartbeat",
        error_code=heard.error,
        is_caught_up=heard.caught_up,
        is_fenced=heard.fenced,
        should_shut_down=heard.should_stop,
    )

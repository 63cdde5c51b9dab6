"""BrokerRegistration 4: a broker begins anew; its epoch is the place of its registration in the metadata log.

The same incarnation again gets the same epoch. Another one is a restart, whether the earlier ended or not: it is in
sync nowhere but where it is the last. Gaps: two listeners at the most, no features, no log directories.
"""

from __future__ import annotations

from brokertrial.reference_impl.api import Context, handles
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("BrokerRegistration", 0, 4, of_controller=True)
def broker_registration(request: Struct, context: Context) -> Struct:
    """The broker's epoch, durable."""
    node = context.node
    if request.cluster_id != node.cluster_id:
        return response("BrokerRegistration", error_code=errors.INCONSISTENT_CLUSTER_ID)
    if not request.listeners:
        return response("BrokerRegistration", error_code=errors.INVALID_REGISTRATION)
    where = request.listeners[0]
    peers = next(((one.host, one.port) for one in request.listeners[1:]), None)
    epoch = node.controller.register(
        request.broker_id, str(request.incarnation_id), where.host, where.port, peers, request.rack or ""
    )
    broker = request.broker_id
    node.when_closed(context.connection_id, lambda: node.controller.disconnected(broker, epoch))
    return response("BrokerRegistration", broker_epoch=epoch)

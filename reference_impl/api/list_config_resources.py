"""ListConfigResources (KIP-1142): the things that have settings.

Versions 0-1. Topics, brokers, groups with settings of their own, subscriptions to metrics of clients; v0 lists these
alone. An unsupported type: UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from brokertrial.reference_impl.api import Context, handles
from brokertrial.reference_impl.api.resources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import Struct, response


@handles("ListConfigResources", 0, 1)
def list_config_resources(request: Struct, context: Context) -> Struct:
    """Names and kinds."""
    if context.version == 0:
        names = [{"resource_name": name} for name in context.node.image.client_metrics]
        return response("ListConfigResources", config_resources=names)
    kinds = set(request.resource_types) or {TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP}
    if not kinds <= {TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP}:
        return response("ListConfigResources", error_code=errors.UNSUPPORTED_VERSION)
    node = context.node
    found = [(topic.name, TOPIC) for topic in node.topics.all()] + [
        (str(broker), kind) for broker in node.live_brokers() for kind in (BROKER, BROKER_LOGGER)
    ]
    found += [(group_id, GROUP) for group_id in node.image.group_configs]
    found += [(name, CLIENT_METRICS) for name in node.image.client_metrics]
    return response(
        "ListConfigResources",
        config_resources=[{"resource_name": name, "resource_type": kind} for name, kind in found if kind in kinds],
    )

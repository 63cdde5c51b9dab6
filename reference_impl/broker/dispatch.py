"""Between the listener and the handlers: what has to go elsewhere, or has to wait, in a cluster.

An administrator's request goes to the controller. What a coordinator answers leaves once everything that its
partition of the internal topic held at that moment is replicated: so nothing is told that a failover could take back.
A node alone has its answers at once, but for what its coordinators are still reading.
"""

from __future__ import annotations

from brokertrial.reference_impl.api import Context, HandlerResult, Served
from brokertrial.reference_impl.broker import coordinated
from brokertrial.reference_impl.log.validate import Rejected
from brokertrial.wire.messages import Struct


def dispatch(served: Served, request: Struct, context: Context) -> HandlerResult:
    """The answer, or what will be it."""
    node = context.node
    if not node.in_cluster and not coordinated.loading(node):
        try:
            return served.handler(request, context)
        except Rejected as rejected:
            return coordinated.not_written(served, request, context, rejected)
    if served.forwarded and node.in_cluster:
        return node.forward(request, context.version)
    kind = coordinated.BY_API.get(served.api.name)
    if kind is None:
        return served.handler(request, context)
    return coordinated.answer(kind, served.handler, request, context)

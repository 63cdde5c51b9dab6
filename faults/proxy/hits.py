"""Every hit of every fault, counted and reported, with the broker's own answer where there is one."""

from collections.abc import Iterable, Sequence

from brokertrial.faults.actions import Action
from brokertrial.faults.error_responses import first_error
from brokertrial.faults.proxy.active_faults import ActiveFault
from brokertrial.faults.proxy.exchange import ProxiedRequest, ProxiedResponse, UndecodableMessage
from brokertrial.faults.proxy.follow_up import Hit, SentBatch
from brokertrial.faults.proxy.outbox import Outbox
from brokertrial.histories.clock import now_ns

UNREPORTED_AFTER = 100


class Hits:
    """Counts at once; reports when nothing more can become known of the request."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def count(self, fault: ActiveFault, action: Action) -> tuple[Hit, ...]:
        """Counts a hit; nothing is returned where it is one of too many to be reported."""
        number = fault.hit()
        if not fault.fault.telling and number > UNREPORTED_AFTER:
            return ()
        return (Hit(fault, now_ns(), type(action).__name__.lower(), number),)

    def report(
        self,
        hits: Sequence[Hit],
        request: ProxiedRequest,
        batches: Iterable[SentBatch],
        response: ProxiedResponse | None = None,
    ) -> None:
        """Reports hits; `response`: the broker's own."""
        if not hits:
            return
        code = broker_code(response) if response and any(hit.fault.fault.telling for hit in hits) else None
        for hit in hits:
            fields = {
                "n": hit.number,
                "decision": hit.decision,
                "api": request.api,
                "version": request.version,
                "correlation_id": request.correlation_id,
                "connection": request.connection,
                "code": code,
                "batches": [sent.identity() for sent in batches],
            }
            columns = {"window": hit.fault.window.id, "client": request.client, "node": request.node}
            self._outbox.event("hit", at_ns=hit.at_ns, fields=fields, **columns)


def broker_code(response: ProxiedResponse) -> int | None:
    """The broker's own error code in a response (0: no error); None where it cannot be decoded."""
    try:
        return first_error(response.decoded())
    except UndecodableMessage:
        return None

"""Every bite of every window, counted and told, with the broker's own answer where there is one."""

from brokertrial.faults.error_responses import first_error
from brokertrial.faults.proxy.active_faults import ActiveFault
from brokertrial.faults.proxy.exchange import ProxiedExchange
from brokertrial.faults.proxy.outbox import Outbox
from brokertrial.histories.clock import now_ns

UNREPORTED_AFTER = 100
_HEAD = ("api_of", "key", "version", "correlation_id", "client", "node", "connection", "frame", "at_ns", "readable")
Hit = tuple[ActiveFault, int, str, int]
"""The window, when, what was decided, and the how-manieth of this window."""


class Hits:
    """Counts at once; tells when nothing more can become known of the request."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def record(self, window: ActiveFault, message: ProxiedExchange, what: str, later: bool) -> None:
        """Counts a hit and tells of it, if `later` together with what the broker answered."""
        number = window.hit()
        message.hit_by.add(window.window.id)
        if not window.fault.telling and number > UNREPORTED_AFTER:
            return
        hit = (window, now_ns(), what, number)
        if later:
            message.hits.append(hit)
        else:
            self._tell(hit, message, None)

    def settle(self, message: ProxiedExchange) -> None:
        """Nothing more can happen to it: its hits are told."""
        if message.hits:
            code = broker_code(message) if any(hit[0].fault.telling for hit in message.hits) else None
            for hit in message.hits:
                self._tell(hit, message, code)
            message.hits.clear()

    def _tell(self, hit: Hit, message: ProxiedExchange, code: int | None) -> None:
        window, at_ns, what, number = hit
        fields = {
            "n": number,
            "decision": what,
            "api": message.api,
            "version": message.version,
            "correlation_id": message.correlation_id,
            "connection": message.connection,
            "code": code,
            "batches": [sent.identity() for sent in message.batches],
        }
        columns = {"window": window.window.id, "client": message.client, "node": message.node}
        self._outbox.event("hit", at_ns=at_ns, fields=fields, **columns)


def broker_code(message: ProxiedExchange) -> int | None:
    """The broker's own error code in an answer (0: no error); None: there is no readable answer."""
    if message.answer_frame is None:
        return None
    fresh = ProxiedExchange(**{name: getattr(message, name) for name in _HEAD})
    fresh.answer_frame = message.answer_frame
    answer = fresh.readable_answer()
    return None if answer is None else first_error(answer)

"""A request is parked and arrives long after its client has moved on."""

from typing import Unpack

from brokertrial.faults.actions import FORWARD, Action, Hold
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.schedule import Window


class HoldRequests(MessageFault, frozen=True):
    """A packet that sat in a router: the request is delivered when the window ends, over a connection of its own if
    need be.

    This reorders requests between connections (the client times out, reconnects, goes on, and then the old request
    arrives), the fault behind KAFKA-17754. Leaves every guarantee of idempotent and transactional producers in
    force.
    """

    kind, model, verb, noun = "hold", "omission", "hold", "request"

    def decide(self, message: Message) -> Action:
        return FORWARD if message.is_response else Hold()


def hold(**where: Unpack[MessageFaultOptions]) -> Window:
    """Park requests until the window's end: `hold(api="EndTxn", times=1, end=at_op(500))`."""
    return message_window(HoldRequests(), **where)

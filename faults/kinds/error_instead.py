"""An error in the broker's stead: it never saw the request."""

from typing import Unpack

from brokertrial.faults.actions import FORWARD, Action, Respond
from brokertrial.faults.error_responses import NoErrorField, code_of, error_response
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.schedule import Window


class ErrorInstead(MessageFault, frozen=True):
    """The request is refused before it had any effect, for all that it names.

    Leaves every guarantee in force for retriable codes; with others the client may give up, as it would on a broker
    that says so.
    """

    kind, model, verb, noun = "error_instead", "omission", "refuse", "request"
    error: int | str

    def decide(self, message: Message) -> Action:
        if message.is_response:
            return FORWARD
        try:
            return Respond(error_response(message.request, message.version, code_of(self.error)))
        except NoErrorField:
            return FORWARD


def error_instead(error: int | str, **where: Unpack[MessageFaultOptions]) -> Window:
    """Refuse requests: `error_instead("NOT_COORDINATOR", api="OffsetCommit", times=3)`."""
    code_of(error)
    return message_window(ErrorInstead(error=error), **where)

"""An error in the broker's stead: it never saw the request."""

from typing import Unpack

from faults.actions import FORWARD, Action, Answer
from faults.kind import Message, MessageFault, Where, message_window
from faults.refusals import NoPlaceForError, code_of, refusal
from faults.schedule import Window


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
            return Answer(refusal(message.request, message.version, code_of(self.error)))
        except NoPlaceForError:
            return FORWARD


def error_instead(error: int | str, **where: Unpack[Where]) -> Window:
    """Refuse requests: `error_instead("NOT_COORDINATOR", api="OffsetCommit", times=3)`."""
    code_of(error)
    return message_window(ErrorInstead(error=error), **where)

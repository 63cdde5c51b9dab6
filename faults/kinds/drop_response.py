"""The answer is lost on its way back."""

from typing import Unpack

from brokertrial.faults.actions import FORWARD, Action, Drop, End
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.schedule import Window


class DropResponse(MessageFault, frozen=True):
    """The broker did it, the client never hears: the client must retry without knowing.

    Leaves every guarantee in force; what it makes unknown is recorded as a hit, so that the operation is judged
    `info`. Closing the connection also loses the answers still under way on it; silence swallows every later answer
    on it, as a dead peer would.
    """

    kind, model, verb, noun = "drop_response", "omission", "drop", "response"
    then: End = "close"

    def decide(self, message: Message) -> Action:
        return Drop(then=self.then) if message.is_response else FORWARD


def drop_response(*, then: End = "close", **where: Unpack[MessageFaultOptions]) -> Window:
    """Lose answers: `drop_response(api="Produce", every=7, times=20)`."""
    return message_window(DropResponse(then=then), **where)

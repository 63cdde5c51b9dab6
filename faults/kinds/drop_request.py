"""The request is lost on its way out."""

from typing import Unpack

from brokertrial.faults.actions import FORWARD, Action, Drop, End
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.schedule import Window


class DropRequest(MessageFault, frozen=True):
    """The broker never sees it, and the client cannot know that: to it this looks just like a lost answer.

    Leaves every guarantee in force. The hit tells a checker that the request had no effect, which the client may
    not assume.
    """

    kind, model, verb, noun = "drop_request", "omission", "drop", "request"
    then: End = "close"

    def decide(self, message: Message) -> Action:
        return FORWARD if message.is_response else Drop(then=self.then)


def drop_request(*, then: End = "close", **where: Unpack[MessageFaultOptions]) -> Window:
    """Lose requests: `drop_request(api="OffsetCommit", times=1)`."""
    return message_window(DropRequest(then=then), **where)

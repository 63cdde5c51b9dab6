"""The broker sees a request twice."""

from typing import Literal, Unpack

from brokertrial.faults.actions import FORWARD, Action, Duplicate
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.schedule import Window


class DuplicateRequest(MessageFault, frozen=True):
    """What a retry at the worst moment does: the same request twice in a row, the client hears one answer.

    Leaves the guarantees of idempotent and transactional producers in force; a producer without idempotence may be
    stored twice.
    """

    kind, model, verb, noun = "duplicate_request", "omission", "duplicate", "request"
    heard: Literal["first", "second"] = "first"

    def decide(self, message: Message) -> Action:
        return FORWARD if message.is_response else Duplicate(heard=self.heard)


def duplicate_request(*, heard: Literal["first", "second"] = "first", **where: Unpack[MessageFaultOptions]) -> Window:
    """Send requests twice: `duplicate_request(api="Produce", every=5)`."""
    return message_window(DuplicateRequest(heard=heard), **where)

"""An error after the fact: the broker did it, the answer says that it did not."""

from typing import Unpack

from brokertrial.faults.actions import FORWARD, Action, Replace
from brokertrial.faults.error_responses import code_of, fail
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.schedule import Window


class ErrorAfter(MessageFault, frozen=True):
    """The code in the broker's answer is replaced, for all that the answer names: what a broker does that fails after
    its append.

    Leaves every guarantee in force with codes that leave the outcome open (REQUEST_TIMED_OUT,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND). The hit records the broker's own code, so that the operation is judged
    `info`.
    """

    kind, model, verb, noun = "error_after", "omission", "fail", "response"
    error: int | str

    def decide(self, message: Message) -> Action:
        if not message.is_response:
            return FORWARD
        answer = message.answer
        return Replace(answer) if fail(answer, message.version, code_of(self.error)) else FORWARD


def error_after(error: int | str, **where: Unpack[MessageFaultOptions]) -> Window:
    """Answer with an error what was done: `error_after("REQUEST_TIMED_OUT", api="Produce", every=5)`."""
    code_of(error)
    return message_window(ErrorAfter(error=error), **where)

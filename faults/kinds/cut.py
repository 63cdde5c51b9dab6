"""A client is cut off from a node, in both directions or in one."""

from typing import Literal, Unpack

from brokertrial.faults.actions import FORWARD, Action, Reset, Stall
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.schedule import Window

CutDirection = Literal["both", "requests", "answers"]


class Cut(MessageFault, frozen=True):
    """A partition between clients and nodes. New connections are accepted and hear nothing, like a peer behind a dead
    switch.

    `stall`: what was under way arrives after the heal on connections that still stand (TCP's own retransmission)
    and is lost with the others. `reset`: connections are aborted, again and again. Leaves every safety guarantee in
    force; progress only elsewhere.
    """

    kind, model, verb, noun = "cut", "omission", "cut", "message"
    in_flight = True
    telling = False
    direction: CutDirection = "both"
    how: Literal["stall", "reset"] = "stall"

    def decide(self, message: Message) -> Action:
        if self.direction == ("requests" if message.is_response else "answers"):
            return FORWARD
        return Stall() if self.how == "stall" else Reset()

    def bars_answers(self) -> bool:
        return self.direction != "requests"


def cut(
    *, direction: CutDirection = "both", how: Literal["stall", "reset"] = "stall", **where: Unpack[MessageFaultOptions]
) -> Window:
    """Cut a client from a node: `cut(client="producer-1", node="leader(t,0)", direction="answers")`."""
    return message_window(Cut(direction=direction, how=how), **where)

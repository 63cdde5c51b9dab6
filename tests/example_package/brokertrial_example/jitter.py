"""Answers come late, each by a time of its own."""

from typing import Unpack

from brokertrial.faults.actions import FORWARD, Action, Delay
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.schedule import Window


class Jitter(MessageFault, frozen=True):
    """A network in which no two answers take the same time. Leaves every guarantee in force."""

    kind, model, verb, noun = "jitter", "timing", "delay at random", "response"
    most_ms: int

    def decide(self, message: Message) -> Action:
        return Delay(message.random.uniform(0, self.most_ms / 1000)) if message.is_response else FORWARD


def jitter(most_ms: int, **where: Unpack[MessageFaultOptions]) -> Window:
    """Delay answers by up to so many milliseconds: `jitter(20, api="Produce")`."""
    return message_window(Jitter(most_ms=most_ms), **where)

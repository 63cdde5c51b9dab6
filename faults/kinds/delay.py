"""Messages arrive late."""

from typing import Literal, Unpack

from brokertrial.faults.actions import FORWARD, Action, Delay
from brokertrial.faults.kind import Message, MessageFault, MessageFaultOptions, message_window
from brokertrial.faults.schedule import Window


class DelayMessages(MessageFault, frozen=True):
    """A slow path: each message arrives `ms` later, plus up to `jitter_ms`; order on a connection is kept, as TCP
    keeps it.

    Leaves every guarantee in force but those on time. Pipelined messages are delayed side by side, not one after
    another.
    """

    kind, model, verb, noun = "delay", "timing", "delay", "message"
    telling = False
    ms: float
    jitter_ms: float = 0
    direction: Literal["answers", "requests"] = "answers"

    def decide(self, message: Message) -> Action:
        if message.is_response != (self.direction == "answers"):
            return FORWARD
        extra = message.random.uniform(0, self.jitter_ms) if self.jitter_ms else 0.0
        return Delay((self.ms + extra) / 1000)


def delay(
    ms: float,
    *,
    jitter_ms: float = 0,
    direction: Literal["answers", "requests"] = "answers",
    **where: Unpack[MessageFaultOptions],
) -> Window:
    """Latency: `delay(300)` adds 300 ms to every answer; `delay(50, jitter_ms=20, api="Fetch")` to some."""
    return message_window(DelayMessages(ms=ms, jitter_ms=jitter_ms, direction=direction), **where)

"""The end of a connection between a node and its clients is heard late."""

from typing import Unpack

from brokertrial.faults.kind import ByteFault, ProcessFaultOptions, process_window
from brokertrial.faults.schedule import Window
from brokertrial.faults.toxiproxy.toxic import Direction, Toxic, toxics


class SlowClose(ByteFault, frozen=True):
    """The node goes on for `delay_ms` with a client that is gone, or a client waits so long for the end of a node.

    Nothing that was sent is lost. Leaves all but promises on time in force.
    """

    kind, verb, model = "slow_close", "let ends of connections to {} be heard late", "timing"
    ends_connections = True
    delay_ms: int = 1_000
    direction: Direction = "both"

    def toxics(self) -> list[Toxic]:
        return toxics("slow_close", self.direction, delay=self.delay_ms)


def slow_close(
    target: str | int, delay_ms: int = 1_000, *, direction: Direction = "both", **when: Unpack[ProcessFaultOptions]
) -> Window:
    """`slow_close("coordinator({group})", 2_000, begin=at_op(300))`."""
    return process_window(SlowClose(delay_ms=delay_ms, direction=direction), target, **when)

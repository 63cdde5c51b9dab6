"""Bytes between a node and its clients come in small pieces."""

from typing import Unpack

from brokertrial.faults.kind import ByteFault, ProcessFaultOptions, process_window
from brokertrial.faults.schedule import Window
from brokertrial.faults.toxiproxy.toxic import Direction, Toxic, toxics


class Slicer(ByteFault, frozen=True):
    """Pieces of about `size` bytes, `delay_us` apart: a frame, its length, its header arrive in many reads.

    Every byte arrives, in order. Leaves all but promises on time in force.
    """

    kind, verb, model = "slicer", "slice what is sent to and from {}", "timing"
    size: int = 64
    delay_us: int = 0
    direction: Direction = "both"

    def toxics(self) -> list[Toxic]:
        sizes = {"average_size": self.size, "size_variation": self.size // 2}
        return toxics("slicer", self.direction, **sizes, delay=self.delay_us)


def slicer(
    target: str | int,
    size: int = 64,
    *,
    delay_us: int = 0,
    direction: Direction = "both",
    **when: Unpack[ProcessFaultOptions],
) -> Window:
    """`slicer("leader({topic},0)", size=20, begin=at_op(300))`."""
    return process_window(Slicer(size=size, delay_us=delay_us, direction=direction), target, **when)

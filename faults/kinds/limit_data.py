"""Connections between a node and its clients end after so many bytes."""

from typing import Unpack

from brokertrial.faults.kind import ByteFault, ProcessFaultOptions, process_window
from brokertrial.faults.schedule import Window
from brokertrial.faults.toxiproxy.toxic import Direction, Toxic, toxics


class LimitData(ByteFault, frozen=True):
    """After `size` bytes in that direction a connection is closed, in the middle of a frame more often than not.

    A request that was cut must have no effect; an answer that was cut, its request may have had. Leaves every guarantee
    in force.
    """

    kind, verb = "limit_data", "end connections to {} after some bytes"
    ends_connections = True
    size: int = 20_000
    direction: Direction = "requests"

    def toxics(self) -> list[Toxic]:
        return toxics("limit_data", self.direction, bytes=self.size)


def limit_data(
    target: str | int, size: int = 20_000, *, direction: Direction = "requests", **when: Unpack[ProcessFaultOptions]
) -> Window:
    """`limit_data("leader({topic},0)", size=5_000, begin=at_op(300))`."""
    return process_window(LimitData(size=size, direction=direction), target, **when)

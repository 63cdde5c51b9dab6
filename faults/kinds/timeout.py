"""Bytes between a node and its clients are swallowed."""

from typing import Unpack

from brokertrial.faults.kind import ByteFault, ProcessFaultOptions, process_window
from brokertrial.faults.schedule import Window
from brokertrial.faults.toxiproxy.toxic import Direction, Toxic, toxics


class Timeout(ByteFault, frozen=True):
    """Nothing passes in that direction; a connection on which nothing is sent for `idle_ms` is closed (0: never).

    With `answers` the node does what it is asked, and nobody hears of it. Leaves every guarantee in force.
    """

    kind, verb = "timeout", "swallow what passes between {} and its clients"
    idle_ms: int = 0
    direction: Direction = "answers"

    def toxics(self) -> list[Toxic]:
        return toxics("timeout", self.direction, timeout=self.idle_ms)


def timeout(
    target: str | int, idle_ms: int = 0, *, direction: Direction = "answers", **when: Unpack[ProcessFaultOptions]
) -> Window:
    """`timeout("leader({topic},0)", direction="requests", begin=at_op(300), end=after("f1", delay_ms=4000))`."""
    return process_window(Timeout(idle_ms=idle_ms, direction=direction), target, **when)

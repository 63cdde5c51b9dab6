"""The line between a node and its clients is long."""

from typing import Unpack

from brokertrial.faults.kind import ByteFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, Shaping
from brokertrial.faults.schedule import Window
from brokertrial.faults.toxiproxy.toxic import Direction, Toxic, toxics


class Latency(ByteFault, frozen=True):
    """Bytes arrive `latency_ms` later, give or take `jitter_ms`, in their order, however many are under way.

    Where the kernel does it, what nodes say to each other is late as well. Leaves all but promises on time in force.
    """

    kind, verb, model = "latency", "put a long line before {}", "timing"
    needs = ("latency",)
    latency_ms: int = 100
    jitter_ms: int = 0
    direction: Direction = "answers"

    def toxics(self) -> list[Toxic]:
        return toxics("latency", self.direction, latency=self.latency_ms, jitter=self.jitter_ms)

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [Shaping(node, delay_ms=self.latency_ms, jitter_ms=self.jitter_ms) for node in nodes]


def latency(
    target: str | int,
    latency_ms: int = 100,
    *,
    jitter_ms: int = 0,
    direction: Direction = "answers",
    **when: Unpack[ProcessFaultOptions],
) -> Window:
    """`latency("leader({topic},0)", 300, jitter_ms=200, begin=at_op(300))`."""
    return process_window(Latency(latency_ms=latency_ms, jitter_ms=jitter_ms, direction=direction), target, **when)

"""The line of a node is narrow."""

from typing import Unpack

from brokertrial.faults.kind import ByteFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, Shaping
from brokertrial.faults.schedule import Window
from brokertrial.faults.toxiproxy.toxic import Toxic, toxics


class LimitBandwidth(ByteFault, frozen=True):
    """What a node and its clients send each other passes at so many kilobits a second at the most; the rest waits.

    Where the kernel does it, what nodes send each other too. Leaves all but promises on time in force.
    """

    kind, verb, model = "limit_bandwidth", "narrow the line of {}", "timing"
    needs = ("bandwidth",)
    kbit_per_s: int = 1_000

    def toxics(self) -> list[Toxic]:
        return toxics("bandwidth", "both", rate=max(1, self.kbit_per_s // 8))  # kilobytes a second

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [Shaping(node, kbit_per_s=self.kbit_per_s) for node in nodes]


def limit_bandwidth(target: str | int, kbit_per_s: int = 1_000, **when: Unpack[ProcessFaultOptions]) -> Window:
    """`limit_bandwidth("leader({topic},0)", kbit_per_s=500, begin=at_op(300))`."""
    return process_window(LimitBandwidth(kbit_per_s=kbit_per_s), target, **when)

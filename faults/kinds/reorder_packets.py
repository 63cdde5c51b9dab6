"""The line of a node changes the order of its packets."""

from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, Shaping
from brokertrial.faults.schedule import Window


class ReorderPackets(NetworkFault, frozen=True):
    """Each packet to and from a node takes `delay_ms` longer, but for `percent` of them, which overtake the others.

    Needs netem, which not every kernel has. Leaves every guarantee in force but those on time.
    """

    kind, verb, model = "reorder_packets", "reorder the packets of {}", "timing"
    needs = ("network", "netem")
    percent: float = 25
    delay_ms: float = 50

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [Shaping(node, delay_ms=self.delay_ms, reorder_percent=self.percent) for node in nodes]


def reorder_packets(
    target: str | int, percent: float = 25, *, delay_ms: float = 50, **when: Unpack[ProcessFaultOptions]
) -> Window:
    """`reorder_packets("follower({topic},0)", percent=30, begin=at_op(300))`."""
    return process_window(ReorderPackets(percent=percent, delay_ms=delay_ms), target, **when)

"""A node is cut off from all others, and back, again and again."""

from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, both_ways
from brokertrial.faults.schedule import Window


class Flap(NetworkFault, frozen=True):
    """A loose cable: cut off from all other nodes for `on_ms`, there for `off_ms`, by turns, until the window ends.

    Leaves every guarantee in force. Elections may follow each other as fast as sessions time out.
    """

    kind, verb = "flap", "cut {} off from all other nodes, and let it back, by turns"
    on_ms: float = 800
    off_ms: float = 1_200

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [*both_ways(nodes, members.others(nodes))]

    def rhythm_ms(self) -> tuple[float, float]:
        return self.on_ms, self.off_ms


def flap(
    target: str | int, *, on_ms: float = 800, off_ms: float = 1_200, **when: Unpack[ProcessFaultOptions]
) -> Window:
    """`flap("leader({topic},0)", on_ms=2500, off_ms=1000, begin=at_op(300))`."""
    return process_window(Flap(on_ms=on_ms, off_ms=off_ms), target, **when)

"""Each broker hears only the one before it."""

from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, PacketRule
from brokertrial.faults.schedule import Window


class Ring(NetworkFault, frozen=True):
    """Packets go round in one direction: from each broker to the next, from the last to the first, and no other way.

    Every pair of neighbours is cut in one direction; everybody is heard by somebody. Separate controllers are seen by
    all. Leaves every guarantee in force; of the progress nothing is asked before the heal.
    """

    kind, verb = "ring", "let each broker hear only the one before it"

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        brokers = members.brokers
        following = dict(zip(brokers, (*brokers[1:], brokers[0]), strict=True))
        pairs = [(a, b) for a in brokers for b in brokers if b not in (a, following[a])]
        return [PacketRule(*pair) for pair in pairs]


def ring(**when: Unpack[ProcessFaultOptions]) -> Window:
    """Let packets go round in one direction: `ring(begin=at_op(300), end=after("f1", delay_ms=4000))`."""
    return process_window(Ring(), "any", **when)

"""Packets of a node are lost in one direction only."""

from typing import Literal, Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, PacketRule
from brokertrial.faults.schedule import Window


class OneWay(NetworkFault, frozen=True):
    """A node that is not heard, or hears nothing: what it sends to all other nodes is lost, or what they send to it.

    Half of a partition, and often worse: TCP's acknowledgements go one of the two ways, so that connections stand and
    starve. Leaves every guarantee in force; progress elsewhere, and of all after the heal.
    """

    kind, verb = "one_way", "lose what passes in one direction between {} and all other nodes"
    direction: Literal["outgoing", "incoming"] = "outgoing"

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        pairs = [(node, other) for node in nodes for other in members.others(nodes)]
        if self.direction == "incoming":
            pairs = [(other, node) for node, other in pairs]
        return [PacketRule(*pair) for pair in pairs]


def one_way(
    target: str | int,
    direction: Literal["outgoing", "incoming"] = "outgoing",
    **when: Unpack[ProcessFaultOptions],
) -> Window:
    """Lose what a node sends, or what is sent to it: `one_way("leader({topic},0)", "incoming")`."""
    return process_window(OneWay(direction=direction), target, **when)

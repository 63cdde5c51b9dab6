"""A node, or several, cut off from all other nodes; their clients still reach them."""

from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, both_ways
from brokertrial.faults.schedule import Window


class Isolate(NetworkFault, frozen=True):
    """A partition into two sides: the nodes that are named, and all others, controllers included. Packets are lost.

    Leaves every guarantee in force. What the smaller side leads it must not acknowledge with acks=all; progress is
    asked for only of the larger side, and of all after the heal.
    """

    kind, verb = "isolate", "cut {} off from all other nodes"

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [*both_ways(nodes, members.others(nodes))]


def isolate(target: str | int, **when: Unpack[ProcessFaultOptions]) -> Window:
    """Part nodes from the rest: `isolate("leader({topic},0)", begin=at_op(300), end=after("f1", delay_ms=5000))`."""
    return process_window(Isolate(), target, **when)

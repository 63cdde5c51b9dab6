"""A share of the packets between a node and all others is lost."""

from dataclasses import replace
from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, both_ways
from brokertrial.faults.schedule import Window


class LosePackets(NetworkFault, frozen=True):
    """A bad line: the kernel drops so many percent of the packets between a node and all others, chosen at random.

    TCP sends them again, later and later; nothing is lost to the brokers but time. Which packets it hits is the
    kernel's choice and not replayed. Leaves every guarantee in force.
    """

    kind, verb, model = "lose_packets", "lose packets between {} and the other nodes", "timing"
    percent: float = 20

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [replace(rule, percent=self.percent) for rule in both_ways(nodes, members.others(nodes))]


def lose_packets(target: str | int, percent: float = 20, **when: Unpack[ProcessFaultOptions]) -> Window:
    """`lose_packets("leader({topic},0)", percent=30, begin=at_op(300))`."""
    return process_window(LosePackets(percent=percent), target, **when)

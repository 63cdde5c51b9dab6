"""One node sees all others, which do not see each other."""

from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, both_ways
from brokertrial.faults.schedule import Window


class Bridge(NetworkFault, frozen=True):
    """The node that is named sees everybody; the other brokers do not see each other. Separate controllers are seen.

    No two majorities agree on who is there. Leaves every guarantee in force; of the progress nothing is asked before
    the heal.
    """

    kind, verb = "bridge", "let the other brokers see each other no more, and all of them {}"

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        others = [node for node in members.brokers if node not in nodes]
        return [rule for index, node in enumerate(others) for rule in both_ways([node], others[index + 1 :])]


def bridge(target: str | int, **when: Unpack[ProcessFaultOptions]) -> Window:
    """Leave a node as the only bridge between the others: `bridge("follower({topic},0)")`."""
    return process_window(Bridge(), target, **when)

"""A node is cut off from the controllers of the quorum, and from nobody else."""

from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, both_ways
from brokertrial.faults.schedule import Window


class CutControllers(NetworkFault, frozen=True):
    """Replication and clients go on; heartbeats, changes of the in-sync set and the metadata log do not pass.

    After its session timeout the node is fenced by the others, and does not know it. Where its broker and its
    controller are one process, that controller is cut off too, in both directions. Leaves every guarantee in force.
    """

    kind, verb = "cut_controllers", "cut {} off from the controllers"

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [*both_ways(nodes, [node for node in members.controllers if node not in nodes], "controllers")]


def cut_controllers(target: str | int, **when: Unpack[ProcessFaultOptions]) -> Window:
    """`cut_controllers("leader({topic},0)", begin=at_op(300), end=after("f1", delay_ms=5000))`."""
    return process_window(CutControllers(), target, **when)

"""Connections between a node and all others are reset, old ones and new ones."""

from dataclasses import replace
from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, both_ways
from brokertrial.faults.schedule import Window


class ResetConnections(NetworkFault, frozen=True):
    """A firewall that rejects: each packet to or from the other nodes is answered by a reset.

    Both sides learn at once that they are parted, where a cut leaves them waiting. Leaves every guarantee in force.
    """

    kind, verb = "reset_connections", "reset every connection between {} and the other nodes"

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [replace(rule, action="reset") for rule in both_ways(nodes, members.others(nodes))]


def reset_connections(target: str | int, **when: Unpack[ProcessFaultOptions]) -> Window:
    """`reset_connections("leader({topic},0)", begin=at_op(300), end=after("f1", delay_ms=4000))`."""
    return process_window(ResetConnections(), target, **when)

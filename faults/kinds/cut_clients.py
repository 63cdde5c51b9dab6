"""All clients are cut off from a node, which is still one of the cluster."""

from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import CLIENTS, Members, PacketEffect, both_ways
from brokertrial.faults.schedule import Window


class CutClients(NetworkFault, frozen=True):
    """No packet passes between a node and anybody outside of the cluster; replication and the quorum go on.

    The node goes on to lead what nobody can reach, for the cluster misses nothing. Leaves every guarantee in force;
    progress only elsewhere.
    """

    kind, verb = "cut_clients", "cut all clients off from {}"

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [*both_ways(nodes, [CLIENTS], "clients")]


def cut_clients(target: str | int, **when: Unpack[ProcessFaultOptions]) -> Window:
    """`cut_clients("leader({topic},0)", begin=at_op(300), end=after("f1", delay_ms=5000))`."""
    return process_window(CutClients(), target, **when)

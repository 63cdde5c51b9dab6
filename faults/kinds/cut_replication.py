"""A node is cut off from the other brokers, and not from the controllers."""

from typing import Unpack

from brokertrial.faults.kind import NetworkFault, ProcessFaultOptions, process_window
from brokertrial.faults.packets import Members, PacketEffect, both_ways
from brokertrial.faults.schedule import Window


class CutReplication(NetworkFault, frozen=True):
    """Followers fetch nothing from it, nor it from others; markers of transactions do not pass. Its heartbeats do.

    Everybody counts as alive, and the in-sync sets must shrink by replica.lag.time.max.ms. Leaves every guarantee in
    force: acks=all goes on as long as min.insync.replicas are there.
    """

    kind, verb = "cut_replication", "cut {} off from the other brokers' replication"

    def effects(self, nodes: tuple[int, ...], members: Members) -> list[PacketEffect]:
        return [*both_ways(nodes, [node for node in members.brokers if node not in nodes], "brokers")]


def cut_replication(target: str | int, **when: Unpack[ProcessFaultOptions]) -> Window:
    """`cut_replication("leader({topic},0)", begin=at_op(300), end=after("f1", delay_ms=5000))`."""
    return process_window(CutReplication(), target, **when)

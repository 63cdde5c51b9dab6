"""Connections between a node and its clients are reset."""

from typing import Unpack

from brokertrial.faults.kind import ByteFault, ProcessFaultOptions, process_window
from brokertrial.faults.schedule import Window
from brokertrial.faults.toxiproxy.toxic import Direction, Toxic, toxics


class ResetPeer(ByteFault, frozen=True):
    """`after_ms` after its first bytes in that direction a connection is gone: new ones by RST, old ones are closed.

    What was under way is lost, in both directions. Leaves every guarantee in force.
    """

    kind, verb = "reset_peer", "reset the connections of clients to {}"
    ends_connections = True
    after_ms: int = 200
    direction: Direction = "answers"

    def toxics(self) -> list[Toxic]:
        return toxics("reset_peer", self.direction, timeout=self.after_ms)


def reset_peer(
    target: str | int, after_ms: int = 200, *, direction: Direction = "answers", **when: Unpack[ProcessFaultOptions]
) -> Window:
    """`reset_peer("leader({topic},0)", 500, begin=at_op(300), end=after("f1", delay_ms=4000))`."""
    return process_window(ResetPeer(after_ms=after_ms, direction=direction), target, **when)

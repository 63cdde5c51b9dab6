"""A node dies without a word."""

from typing import Unpack

from brokertrial.faults.kind import ProcessFault, ProcessFaultOptions, process_window
from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.schedule import Window


class Kill(ProcessFault, frozen=True):
    """SIGKILL; the end of the window starts it again. The page cache survives: this is a crash of the process, not of
    the machine.

    Leaves every guarantee in force for what acks=all acknowledged with enough replicas; acks=1 may lose what was
    not replicated.
    """

    kind, verb = "kill", "kill"
    needs = ("kill", "restart")

    def begin(self, node_control: NodeControl) -> None:
        node_control.kill()


def kill(target: str | int, **when: Unpack[ProcessFaultOptions]) -> Window:
    """Kill a node: `kill("leader(t,0)", begin=at_op(500))`."""
    return process_window(Kill(), target, **when)

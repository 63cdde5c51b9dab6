"""A node goes and comes straight back."""

from typing import Literal, Unpack

from brokertrial.faults.kind import ProcessFault, ProcessFaultOptions, process_window
from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.schedule import Window


class Restart(ProcessFault, frozen=True):
    """Down and up again in one go, by SIGKILL or SIGTERM; done when the node serves.

    Leaves every guarantee in force, as `kill` and `terminate` do.
    """

    kind, verb = "restart", "restart"
    needs = ("kill", "restart")
    how: Literal["kill", "terminate"] = "kill"

    def begin(self, node_control: NodeControl) -> None:
        node_control.kill() if self.how == "kill" else node_control.terminate()
        node_control.restart()


def restart(
    target: str | int, *, how: Literal["kill", "terminate"] = "kill", **when: Unpack[ProcessFaultOptions]
) -> Window:
    """Restart a node: `restart("coordinator(g)", begin=at_op(400))`."""
    return process_window(Restart(how=how), target, **when)

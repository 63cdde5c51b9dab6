"""A node is asked to stop."""

from typing import Unpack

from brokertrial.faults.kind import ProcessFault, ProcessFaultOptions, process_window
from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.schedule import Window


class Terminate(ProcessFault, frozen=True):
    """SIGTERM: the orderly path, other code than a crash (leaders move away, logs are flushed); the end of the window
    starts it again.

    Leaves every guarantee in force.
    """

    kind, verb = "terminate", "terminate"
    needs = ("kill", "restart")

    def begin(self, node_control: NodeControl) -> None:
        node_control.terminate()


def terminate(target: str | int, **when: Unpack[ProcessFaultOptions]) -> Window:
    """Stop a node in good order: `terminate("coordinator(g)")`."""
    return process_window(Terminate(), target, **when)

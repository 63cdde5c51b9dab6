"""A node stands still and does not know it."""

from typing import Unpack

from brokertrial.faults.kind import ProcessFault, ProcessFaultOptions, process_window
from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.schedule import Window


class Pause(ProcessFault, frozen=True):
    """SIGSTOP until the window ends: to others half-open silence, then a zombie that acts on what it knew before.

    Leaves every guarantee in force. A long garbage collection and a suspended machine look the same.
    """

    kind, verb, model = "pause", "pause", "timing"
    needs = ("pause",)

    def begin(self, node_control: NodeControl) -> None:
        node_control.pause()

    def undo(self, node_control: NodeControl) -> None:
        if node_control.alive() and node_control.paused():
            node_control.resume()


def pause(target: str | int, **when: Unpack[ProcessFaultOptions]) -> Window:
    """Freeze a node: `pause("leader(t,0)", begin=at_op(300), end=after("f1", delay_ms=3000))`."""
    return process_window(Pause(), target, **when)

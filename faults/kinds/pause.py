"""A node stands still and does not know it."""

from typing import Unpack

from faults.kind import ProcessFault, When, process_window
from faults.schedule import Window
from faults.victim import Victim


class Pause(ProcessFault, frozen=True):
    """SIGSTOP until the window ends: to others half-open silence, then a zombie that acts on what it knew before.

    Leaves every guarantee in force. A long garbage collection and a suspended machine look the same.
    """

    kind, verb, model = "pause", "pause", "timing"
    needs = ("pause",)

    def begin(self, victim: Victim) -> None:
        victim.pause()

    def undo(self, victim: Victim) -> None:
        if victim.alive() and victim.paused():
            victim.resume()


def pause(target: str | int, **when: Unpack[When]) -> Window:
    """Freeze a node: `pause("leader(t,0)", begin=at_op(300), end=after("w1", delay_ms=3000))`."""
    return process_window(Pause(), target, **when)

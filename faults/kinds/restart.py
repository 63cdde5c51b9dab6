"""A node goes and comes straight back."""

from typing import Literal, Unpack

from faults.kind import ProcessFault, When, process_window
from faults.schedule import Window
from faults.victim import Victim


class Restart(ProcessFault, frozen=True):
    """Down and up again in one go, by SIGKILL or SIGTERM; done when the node serves.

    Leaves every guarantee in force, as `kill` and `terminate` do.
    """

    kind, verb = "restart", "restart"
    needs = ("kill", "restart")
    how: Literal["kill", "terminate"] = "kill"

    def begin(self, victim: Victim) -> None:
        victim.kill() if self.how == "kill" else victim.terminate()
        victim.restart()


def restart(target: str | int, *, how: Literal["kill", "terminate"] = "kill", **when: Unpack[When]) -> Window:
    """Restart a node: `restart("coordinator(g)", begin=at_op(400))`."""
    return process_window(Restart(how=how), target, **when)

"""A node is asked to stop."""

from typing import Unpack

from faults.kind import ProcessFault, When, process_window
from faults.schedule import Window
from faults.victim import Victim


class Terminate(ProcessFault, frozen=True):
    """SIGTERM: the orderly path, other code than a crash (leaders move away, logs are flushed); the end of the window
    starts it again.

    Leaves every guarantee in force.
    """

    kind, verb = "terminate", "terminate"
    needs = ("kill", "restart")

    def begin(self, victim: Victim) -> None:
        victim.terminate()


def terminate(target: str | int, **when: Unpack[When]) -> Window:
    """Stop a node in good order: `terminate("coordinator(g)")`."""
    return process_window(Terminate(), target, **when)

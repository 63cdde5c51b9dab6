"""What a node offers that can be started without waiting until it serves."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class StartsWithoutWaiting(Protocol):
    """A node that is a process of ours."""

    def launch(self) -> None:
        """Starts it with the data and the port it had, and returns at once."""

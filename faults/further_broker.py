"""What a target must be able to do with a broker that it starts beside its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from brokertrial.faults.node_control import NodeControl


class FurtherBroker(NodeControl, Protocol):
    """A broker beside the nodes of a target: it is no victim of schedules, and ends with the target at the latest."""

    @property
    def exit_status(self) -> int | None:
        """How it ended; None while it runs."""

    @property
    def log_files(self) -> Sequence[Path]:
        """Everything that it writes to."""

    def launch(self) -> None:
        """Starts it and returns at once."""

    def wait_until_it_serves(self) -> None:
        """Returns when it serves as a member of its cluster; raises once it has ended, or at its deadline."""


class MakesBrokers(Protocol):
    """How a target makes one."""

    def __call__(self, node_id: int, chroot: str) -> FurtherBroker:
        """Makes, and does not start, a broker of this id, with ports, data and logs of its own. Its cluster is at this
        chroot, which need not exist; an empty one is that of the target's own cluster."""

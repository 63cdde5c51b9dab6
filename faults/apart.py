"""A node that lives in a network of its own: what a wire case may do to the lines between it and the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from brokertrial.faults.packets import Service


class UnmetCut(Exception):
    """No packet met the cut: it had no effect."""


@runtime_checkable
class LivesInNetwork(Protocol):
    """A node that can be cut off from all other nodes; its clients reach it still."""

    def cut_off(self, service: Service = "any", others: Sequence[int] = ()) -> None:
        """Nothing passes any more, in either direction: to all or these others, for any purpose or a service."""

    def rejoin(self) -> None:
        """Everything passes again; raises UnmetCut where no packet was kept from passing."""

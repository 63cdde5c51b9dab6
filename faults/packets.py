"""What can be done to the packets between nodes, and what a target must offer so that a schedule can do it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

CLIENTS = -1
"""Stands for everybody outside of the cluster where a node's id would stand."""

Service = Literal["any", "clients", "brokers", "controllers"]
"""Which listener of a node: that of its clients, of the other brokers (replication), of the quorum's controllers."""


@dataclass(frozen=True, slots=True)
class PacketRule:
    """Packets in one direction that are lost, or answered by a reset, on their arrival.

    With a service, only those of connections to that listener, whichever of the two ends it is at.
    """

    source: int
    destination: int
    service: Service = "any"
    action: Literal["drop", "reset"] = "drop"
    percent: float = 100.0
    """The share of packets that it is done to, chosen at random by the kernel."""


@dataclass(frozen=True, slots=True)
class Shaping:
    """The line of one node, in both directions: limited, or late. Times in milliseconds, 0 is as it was."""

    node: int
    kbit_per_s: int = 0
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    reorder_percent: float = 0.0


PacketEffect = PacketRule | Shaping


@dataclass(frozen=True, slots=True)
class Members:
    """Who is in the cluster: brokers and controllers by id; a node that is both is in both."""

    brokers: tuple[int, ...]
    controllers: tuple[int, ...]

    @property
    def everybody(self) -> tuple[int, ...]:
        """Every node once, brokers first."""
        return tuple(dict.fromkeys((*self.brokers, *self.controllers)))

    def others(self, nodes: Sequence[int]) -> tuple[int, ...]:
        """Everybody but these."""
        return tuple(node for node in self.everybody if node not in nodes)


class NetworkFailed(RuntimeError):
    """A rule could not be made, read or taken back: ours, never the broker's fault."""


class NetworkControl(Protocol):
    """The network of a target whose nodes live in namespaces. Every call raises NetworkFailed where it did not work."""

    @property
    def members(self) -> Members:
        """The nodes that it connects."""

    def apply(self, window: str, effects: Sequence[PacketEffect]) -> None:
        """Makes the rules of a window; they are read back."""

    def hits(self) -> dict[str, int]:
        """How many packets the rules of each window have met so far, by the kernel's own counters."""

    def heal(self, window: str) -> int:
        """Takes the rules of a window back, reads back that they are gone, and tells how many packets they met."""

    def left(self) -> frozenset[str]:
        """The windows of which the kernel still has a rule."""


def both_ways(one: Sequence[int], others: Sequence[int], service: Service = "any") -> list[PacketRule]:
    """Nothing passes between any of the ones and any of the others."""
    pairs = [(a, b) for a in one for b in others if a != b]
    return [PacketRule(*pair, service=service) for a, b in pairs for pair in ((a, b), (b, a))]

"""Cuts between nodes of one process: what is sent meanwhile arrives after the heal, as TCP would send it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from brokertrial.faults.packets import Service
from brokertrial.suites.targets.node_ids import CONTROLLER


class Cuts:
    """Which nodes are cut off, from whom and for which purpose, and what waits until they are back."""

    def __init__(self) -> None:
        self._cut: dict[int, tuple[Service, Collection[int]]] = {}
        self._kept: list[tuple[int, int, Callable[[], None]]] = []
        self._met: Counter[int] = Counter()

    def begin(self, node: int, service: Service, others: Collection[int]) -> None:
        self._cut[node] = (service, others)

    def end(self, node: int) -> int:
        """How much met the cut of this node."""
        del self._cut[node]
        kept, self._kept = self._kept, []
        for one, other, act in kept:
            self.pass_on(one, other, act)
        return self._met.pop(node, 0)

    def pass_on(self, one: int, other: int, act: Callable[[], None]) -> None:
        """Does it now, or once the two are not parted any more."""
        if self.part(one, other):
            self._kept.append((one, other, act))
        else:
            act()

    def part(self, one: int, other: int) -> bool:
        """Whether nothing passes between these two."""
        purpose = "controllers" if CONTROLLER in (one, other) else "brokers"
        at_work = [node for node, peer in ((one, other), (other, one)) if self._cuts_off(node, peer, purpose)]
        self._met.update(at_work)
        return bool(at_work)

    def _cuts_off(self, node: int, peer: int, purpose: str) -> bool:
        service, others = self._cut.get(node, ("any", ()))
        return peer in others and service in ("any", purpose)

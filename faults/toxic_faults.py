"""Does faults to bytes by Toxiproxy, tells what has met them, and takes them back, read from the server."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from brokertrial.faults.chosen_nodes import ChosenNodes
from brokertrial.faults.kind import ByteFault
from brokertrial.faults.kinds import fault_of
from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.faults.schedule import Window
from brokertrial.faults.toxiproxy.toxic import ToxiproxyFailed

if TYPE_CHECKING:  # loads the client library, which few runs need
    from brokertrial.faults.toxiproxy.node_lines import NodeLines

COUNTED_EVERY_S = 0.25


class ToxicFaults:
    """The windows of a schedule whose kind is a ByteFault, where there is a Toxiproxy: `lines` are its proxies."""

    def __init__(self, lines: NodeLines, links: FaultProxy, seed: int) -> None:
        self._lines = lines
        self._links = links
        self._chosen = ChosenNodes(lines.nodes, links, seed)
        self._nodes: dict[str, tuple[int, ...]] = {}
        self._open: set[str] = set()
        self._before: dict[str, int] = {}
        self._hits: dict[str, int] = {}
        self._counted_s: dict[str, float] = {}
        self._one_at_a_time = Lock()

    def begin(self, window: Window) -> tuple[int, ...]:
        """Does it; the nodes that it was done to."""
        nodes = self._chosen.of(window)
        with self._one_at_a_time:
            self._nodes[window.id] = nodes
            self._open.add(window.id)
            self._before[window.id] = self._count(window)
            self._lines.apply(window.id, nodes, _fault(window).toxics())
        return nodes

    def undo(self, window: Window) -> bool:
        """Takes it back if it was done; whether it was."""
        with self._one_at_a_time:
            if window.id not in self._open:
                return False
            self._look(window)
            self._open.discard(window.id)
            self._lines.heal(window.id)
            return True

    def nodes_of(self, window: Window) -> tuple[int, ...]:
        """The nodes that a window was done to."""
        return self._nodes.get(window.id, ())

    def unhealed(self, windows: Iterable[Window]) -> dict[str, str]:
        """The windows of which a toxic is left, read back from the server."""
        mine = [window.id for window in windows if window.id in self._nodes]
        if not mine:
            return {}
        try:
            left = self._lines.left()
        except ToxiproxyFailed as problem:
            return dict.fromkeys(mine, str(problem))
        return {window: "Toxiproxy still has a toxic of it." for window in mine if window in left}

    def hits_of(self, window: Window) -> int:
        """How much a window has met; counted a few times a second at the most."""
        with self._one_at_a_time:
            if window.id in self._open and monotonic() - self._counted_s.get(window.id, 0.0) >= COUNTED_EVERY_S:
                self._counted_s[window.id] = monotonic()
                self._look(window)
            return self._hits.get(window.id, 0)

    def _look(self, window: Window) -> None:
        try:
            met = self._count(window) - self._before[window.id]
        except ToxiproxyFailed:  # a server that is stuck counts nothing: what is known stays
            return
        if not _fault(window).ends_connections:
            self._hits[window.id] = max(met, 0)
        elif met > 0:  # bytes of connections that ended: one more of them, at the least
            self._before[window.id] += met
            self._hits[window.id] = self._hits.get(window.id, 0) + 1

    def _count(self, window: Window) -> int:
        nodes = self._nodes[window.id]
        if _fault(window).ends_connections:
            return self._lines.ended_bytes(nodes)
        if not self._links.alive():
            return self._before.get(window.id, 0)
        return sum(count for (node, _), count in self._links.requests().items() if node in nodes)


def _fault(window: Window) -> ByteFault:
    fault = fault_of(window)
    assert isinstance(fault, ByteFault), "asked only for windows that Toxiproxy does"
    return fault

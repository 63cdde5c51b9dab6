"""Does process faults to nodes and undoes them, with every step in the journal first."""

from collections.abc import Iterable, Mapping
from threading import Event, Lock
from time import monotonic

from faults.journal import Journal
from faults.kind import ProcessFault
from faults.kinds import fault_of
from faults.links import Links
from faults.schedule import Window
from faults.streams import stream
from faults.victim import Victim

UNKNOWN_SECONDS = 2.0


class NodeWork:
    """Which node each window means, what was done to it, and whether it is undone."""

    def __init__(self, victims: Mapping[int, Victim], links: Links, seed: int, journal: Journal | None) -> None:
        self._victims = victims
        self._links = links
        self._seed = seed
        self._journal = journal
        self._done: dict[str, Victim] = {}
        self._nodes: dict[str, int] = {}
        self._one_at_a_time = Lock()

    def is_node_window(self, window: Window) -> bool:
        """Whether it is done to a node, not to messages."""
        return isinstance(fault_of(window), ProcessFault)

    def begin(self, window: Window) -> int:
        """Does it; the node that it was done to. LookupError when nobody knows which node that is."""
        fault = fault_of(window)
        assert isinstance(fault, ProcessFault), "asked only for node windows"
        node = self._target(window)
        victim = self._victims[node]
        with self._one_at_a_time:
            self._nodes[window.id] = node
            if self._journal is not None:
                self._journal.will(window.id, "paused" if window.kind == "pause" else "down", victim)
            self._done[window.id] = victim
            fault.begin(victim)
        return node

    def undo(self, window: Window) -> bool:
        """Undoes it if it was done and is not undone yet; whether it was."""
        with self._one_at_a_time:
            victim = self._done.get(window.id)
            if victim is None:
                return False
            fault = fault_of(window)
            assert isinstance(fault, ProcessFault), "asked only for node windows"
            fault.undo(victim)
            del self._done[window.id]
            if self._journal is not None:
                self._journal.undone(window.id)
            return True

    def node_of(self, window: Window) -> int | None:
        """The node that a window was done to."""
        return self._nodes.get(window.id)

    def unhealed(self, windows: Iterable[Window]) -> dict[str, str]:
        """The windows whose node does not live or still stands, read back from the node itself."""
        found = {}
        for window in windows:
            node = self._nodes.get(window.id)
            if node is None:
                continue
            if not self._victims[node].alive():
                found[window.id] = f"node {node} is not running."
            elif self._victims[node].paused():
                found[window.id] = f"node {node} still stands."
        return found

    def _target(self, window: Window) -> int:
        known = ", ".join(map(str, sorted(self._victims))) or "none"
        if not window.target or window.target == "any":
            if not self._victims:
                raise LookupError("no node can be disturbed.")
            return int(stream(self._seed, window.id, "target").choice(sorted(self._victims)))
        node = self._resolve(window.target)
        if node is None:
            raise LookupError(f"nobody has seen yet which node {window.target} is.")
        if node not in self._victims:
            raise LookupError(f"{window.target} is node {node}, which cannot be disturbed (those that can: {known}).")
        return node

    def _resolve(self, selector: str) -> int | None:
        """What a selector names; an answer that shows it may be under way."""
        deadline = monotonic() + UNKNOWN_SECONDS
        while (node := self._links.resolve(selector)) is None and monotonic() < deadline:
            Event().wait(0.05)
        return node

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
    """Which nodes each window means, what was done to them, and whether it is undone.

    Windows may share a node: one that two windows hold still goes on when the last of them ends.
    """

    def __init__(self, victims: Mapping[int, Victim], links: Links, seed: int, journal: Journal | None) -> None:
        self._victims = victims
        self._links = links
        self._seed = seed
        self._journal = journal
        self._done: dict[str, list[Victim]] = {}
        self._kinds: dict[str, str] = {}
        self._nodes: dict[str, tuple[int, ...]] = {}
        self._one_at_a_time = Lock()

    def is_node_window(self, window: Window) -> bool:
        """Whether it is done to nodes, not to messages."""
        return isinstance(fault_of(window), ProcessFault)

    def begin(self, window: Window) -> tuple[int, ...]:
        """Does it; the nodes that it was done to. LookupError when nobody knows which nodes those are."""
        fault = fault_of(window)
        assert isinstance(fault, ProcessFault), "asked only for node windows"
        nodes = self._targets(window)
        with self._one_at_a_time:
            self._nodes[window.id], self._kinds[window.id] = nodes, window.kind
            for victim in (self._victims[node] for node in nodes):
                if self._journal is not None:
                    self._journal.will(window.id, "paused" if window.kind == "pause" else "down", victim)
                self._done.setdefault(window.id, []).append(victim)
                fault.begin(victim)
        return nodes

    def undo(self, window: Window) -> bool:
        """Undoes it if it was done and is not undone yet; whether it was. One node that cannot be brought back keeps
        no other down."""
        with self._one_at_a_time:
            victims = self._done.get(window.id)
            if victims is None:
                return False
            fault = fault_of(window)
            assert isinstance(fault, ProcessFault), "asked only for node windows"
            problems: list[Exception] = []
            for victim in list(victims):
                try:
                    if not self._held_by_another(window, victim):
                        fault.undo(victim)
                    victims.remove(victim)
                except Exception as problem:  # noqa: BLE001 - a target's own errors too; raised when all were tried
                    problems.append(problem)
            if problems:
                raise problems[0]
            del self._done[window.id]
            if self._journal is not None:
                self._journal.undone(window.id)
            return True

    def _held_by_another(self, window: Window, victim: Victim) -> bool:
        return any(
            name != window.id and self._kinds[name] == window.kind and victim in others
            for name, others in self._done.items()
        )

    def nodes_of(self, window: Window) -> tuple[int, ...]:
        """The nodes that a window was done to."""
        return self._nodes.get(window.id, ())

    def unhealed(self, windows: Iterable[Window]) -> dict[str, str]:
        """The windows of which a node does not live or still stands, read back from the node itself."""
        found = {}
        for window in windows:
            for node in self.nodes_of(window):
                if not self._victims[node].alive():
                    found[window.id] = f"node {node} is not running."
                elif self._victims[node].paused():
                    found[window.id] = f"node {node} still stands."
        return found

    def _targets(self, window: Window) -> tuple[int, ...]:
        known = ", ".join(map(str, sorted(self._victims))) or "none"
        if not window.target or window.target == "any":
            if not self._victims:
                raise LookupError("no node can be disturbed.")
            return (int(stream(self._seed, window.id, "target").choice(sorted(self._victims))),)
        nodes = self._resolve(window.target)
        if nodes is None:
            raise LookupError(f"nobody has seen yet which node {window.target} is.")
        if strange := [node for node in nodes if node not in self._victims]:
            raise LookupError(
                f"{window.target} is node {strange[0]}, which cannot be disturbed (those that can: {known})."
            )
        return tuple(nodes)

    def _resolve(self, selector: str) -> list[int] | None:
        """What a selector names; an answer that shows it may be under way."""
        deadline = monotonic() + UNKNOWN_SECONDS
        while (nodes := self._links.resolve(selector)) is None and monotonic() < deadline:
            Event().wait(0.05)
        return nodes

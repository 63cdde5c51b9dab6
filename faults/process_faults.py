"""Does process faults to nodes and undoes them, with every step in the journal first."""

from collections.abc import Iterable, Mapping
from threading import Lock

from brokertrial.faults.chosen_nodes import ChosenNodes
from brokertrial.faults.journal import FaultJournal
from brokertrial.faults.kind import ProcessFault
from brokertrial.faults.kinds import fault_of
from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.schedule import Window


class ProcessFaults:
    """Which nodes each window means, what was done to them, and whether it is undone.

    Windows may share a node: one that two windows hold still goes on when the last of them ends.
    """

    def __init__(
        self, node_controls: Mapping[int, NodeControl], chosen: ChosenNodes, journal: FaultJournal | None
    ) -> None:
        self._node_controls = node_controls
        self._chosen = chosen
        self._journal = journal
        self._done: dict[str, list[NodeControl]] = {}
        self._kinds: dict[str, str] = {}
        self._nodes: dict[str, tuple[int, ...]] = {}
        self._one_at_a_time = Lock()

    def begin(self, window: Window) -> tuple[int, ...]:
        """Does it; the nodes that it was done to. LookupError when nobody knows which nodes those are."""
        fault = fault_of(window)
        assert isinstance(fault, ProcessFault), "asked only for node windows"
        nodes = self._chosen.of(window)
        with self._one_at_a_time:
            self._nodes[window.id], self._kinds[window.id] = nodes, window.kind
            for node_control in (self._node_controls[node] for node in nodes):
                if self._journal is not None:
                    self._journal.will(window.id, "paused" if window.kind == "pause" else "down", node_control)
                self._done.setdefault(window.id, []).append(node_control)
                fault.begin(node_control)
        return nodes

    def undo(self, window: Window) -> bool:
        """Undoes it if it was done and is not undone yet; whether it was. One node that cannot be brought back keeps
        no other down."""
        with self._one_at_a_time:
            node_controls = self._done.get(window.id)
            if node_controls is None:
                return False
            fault = fault_of(window)
            assert isinstance(fault, ProcessFault), "asked only for node windows"
            problems: list[Exception] = []
            for node_control in list(node_controls):
                try:
                    if not self._held_by_another(window, node_control):
                        fault.undo(node_control)
                    node_controls.remove(node_control)
                except Exception as problem:  # noqa: BLE001 - a target's own errors too; raised when all were tried
                    problems.append(problem)
            if problems:
                raise problems[0]
            del self._done[window.id]
            if self._journal is not None:
                self._journal.undone(window.id)
            return True

    def _held_by_another(self, window: Window, node_control: NodeControl) -> bool:
        return any(
            name != window.id and self._kinds[name] == window.kind and node_control in others
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
                if not self._node_controls[node].alive():
                    found[window.id] = f"node {node} is not running."
                elif self._node_controls[node].paused():
                    found[window.id] = f"node {node} is still paused."
        return found

"""Does network faults, reads the kernel's counters, and takes them back. A rule that met no packet never bit."""

from collections.abc import Iterable
from threading import Lock
from time import monotonic

from brokertrial.faults.chosen_nodes import ChosenNodes
from brokertrial.faults.kind import NetworkFault
from brokertrial.faults.kinds import fault_of
from brokertrial.faults.packets import NetworkControl, NetworkFailed
from brokertrial.faults.schedule import Window

COUNTED_EVERY_S = 0.25


class NetworkFaults:
    """The windows of a schedule whose kind is a NetworkFault. `network` is absent where the target has none."""

    def __init__(self, network: NetworkControl | None, chosen: ChosenNodes) -> None:
        self._network = network
        self._chosen = chosen
        self._nodes: dict[str, tuple[int, ...]] = {}
        self._open: dict[str, Window] = {}
        self._flipped: dict[str, tuple[float, bool]] = {}
        self._final: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._counted_s = 0.0
        self._one_at_a_time = Lock()

    def begin(self, window: Window) -> tuple[int, ...]:
        """Does it; the nodes that it was done to."""
        network, nodes = self._require(), self._chosen.of(window)
        with self._one_at_a_time:
            self._nodes[window.id] = nodes
            self._open[window.id] = window
            self._flipped[window.id] = (monotonic(), True)
            network.apply(window.id, _fault(window).effects(nodes, network.members))
        return nodes

    def undo(self, window: Window) -> bool:
        """Takes it back if it was done; whether it was."""
        with self._one_at_a_time:
            if window.id not in self._open:
                return False
            self._lift(window.id)
            del self._open[window.id]
            return True

    def nodes_of(self, window: Window) -> tuple[int, ...]:
        """The nodes that a window was done to."""
        return self._nodes.get(window.id, ())

    def unhealed(self, windows: Iterable[Window]) -> dict[str, str]:
        """The windows of which a rule is left, read back from the kernel."""
        mine = [window.id for window in windows if window.id in self._nodes]
        if not mine:
            return {}
        try:
            left = self._require().left()
        except NetworkFailed as problem:
            return dict.fromkeys(mine, str(problem))
        return {window: "the kernel still has a rule of it." for window in mine if window in left}

    def hits_of(self, window: Window) -> int:
        """How many packets a window has met; the kernel is asked a few times a second at the most."""
        with self._one_at_a_time:
            if window.id in self._open and monotonic() - self._counted_s >= COUNTED_EVERY_S:
                self._counted_s = monotonic()
                self._counts = self._require().hits()
            return self._final.get(window.id, 0) + self._counts.get(window.id, 0)

    def tick(self, window: Window) -> None:
        """Lets a window that flaps come or go when it is time; called every few milliseconds."""
        fault = _fault(window)
        if (rhythm := fault.rhythm_ms()) is None:
            return
        with self._one_at_a_time:
            since_s, on = self._flipped.get(window.id, (0.0, True))
            if window.id not in self._open or monotonic() - since_s < rhythm[0 if on else 1] / 1000:
                return
            self._flipped[window.id] = (monotonic(), not on)
            if on:
                self._lift(window.id)
            else:
                network = self._require()
                network.apply(window.id, fault.effects(self._nodes[window.id], network.members))

    def _lift(self, window: str) -> None:
        met = self._require().heal(window)
        self._counts.pop(window, None)
        self._final[window] = self._final.get(window, 0) + met

    def _require(self) -> NetworkControl:
        if self._network is None:
            raise NetworkFailed("the nodes of this target have no network of their own.")
        return self._network


def _fault(window: Window) -> NetworkFault:
    fault = fault_of(window)
    assert isinstance(fault, NetworkFault), "asked only for network windows"
    return fault

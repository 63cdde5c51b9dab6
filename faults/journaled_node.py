"""Nodes in a wire case, with what is done to them in a journal first: a crash of the suite leaves no frozen broker.

A trial needs none of this: its schedule keeps the journal (faults/process_faults.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from brokertrial.faults.apart import UnmetCut
from brokertrial.faults.journal import FaultJournal, heal
from brokertrial.faults.node_control import NodeControl, TakesSettings
from brokertrial.faults.node_launch import StartsWithoutWaiting
from brokertrial.faults.packets import NetworkControl, Service, both_ways


@contextmanager
def journaled(
    node_controls: Mapping[int, NodeControl], path: Path, network: NetworkControl | None = None
) -> Iterator[dict[int, NodeControl]]:
    """The same nodes; the journal is gone afterwards if nothing is left to undo.

    With the `network` that they live in they can be cut off too: that needs no journal, for it ends with the suite.
    Whoever leaves by an exception, as Ctrl-C does, leaves the undoing to us: each sentence on it is a note of that.
    """
    try:
        with FaultJournal(path) as journal:
            yield {node: JournaledVictim(control, journal, network) for node, control in node_controls.items()}
    except BaseException as error:
        for sentence in heal(path):
            error.add_note(sentence)
        raise


class JournaledVictim:
    """A Victim that notes each act before it is done, and its undoing after."""

    def __init__(self, node_control: NodeControl, journal: FaultJournal, network: NetworkControl | None = None) -> None:
        self._node_control = node_control
        self._journal = journal
        self._network = network

    @property
    def node_id(self) -> int:
        return self._node_control.node_id

    @property
    def address(self) -> tuple[str, int]:
        return self._node_control.address

    @property
    def pid(self) -> int | None:
        return self._node_control.pid

    @property
    def ended_when_asked(self) -> bool | None:
        """Whether it ended by itself when it was last asked to; None where that is not known."""
        found: bool | None = getattr(self._node_control, "ended_when_asked", None)
        return found

    def kill(self) -> None:
        self._will("down")
        self._node_control.kill()

    def terminate(self) -> None:
        self._will("down")
        self._node_control.terminate()

    def pause(self) -> None:
        self._will("paused")
        self._node_control.pause()

    def resume(self) -> None:
        self._node_control.resume()
        self._journal.undone(self._entry("paused"))

    def restart(self) -> None:
        self._node_control.restart()
        self._journal.undone(self._entry("down"))
        self._journal.undone(self._entry("paused"))  # a frozen process that was ended is not frozen any more

    def launch(self) -> None:
        """It stays noted as down: it is whoever started it that waits until it serves."""
        if not isinstance(self._node_control, StartsWithoutWaiting):
            raise TypeError(f"node {self.node_id} cannot be started without waiting until it serves")
        self._node_control.launch()

    def choose(self, settings: Mapping[str, str]) -> None:
        if not isinstance(self._node_control, TakesSettings):
            raise TypeError(f"node {self.node_id} cannot be started with other settings")
        self._node_control.choose(settings)

    def cut_off(self, service: Service = "any", others: Sequence[int] = ()) -> None:
        network = self._its_network()
        parted = others or network.members.others([self.node_id])
        network.apply(self._entry("cut"), both_ways([self.node_id], parted, service))

    def rejoin(self) -> None:
        if not self._its_network().heal(self._entry("cut")):
            raise UnmetCut(f"no packet met the cut of node {self.node_id}")

    def _its_network(self) -> NetworkControl:
        if self._network is None:
            raise TypeError(f"node {self.node_id} lives in no network of its own")
        return self._network

    def alive(self) -> bool:
        return self._node_control.alive()

    def paused(self) -> bool:
        return self._node_control.paused()

    def _will(self, what: Literal["paused", "down"]) -> None:
        self._journal.will(self._entry(what), what, self._node_control)

    def _entry(self, what: str) -> str:
        return f"case-{what}-{self.node_id}"

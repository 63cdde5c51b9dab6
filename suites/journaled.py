"""Nodes in a wire case, with what is done to them in a journal first: a crash of the suite leaves no frozen broker.

A trial needs none of this: its schedule keeps the journal (faults/nodework.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from faults.journal import Journal, heal
from faults.victim import Victim


@contextmanager
def journaled(victims: Mapping[int, Victim], path: Path) -> Iterator[dict[int, Victim]]:
    """The same nodes; the journal is gone afterwards if nothing is left to undo.

    Whoever leaves by an exception, as Ctrl-C does, leaves the undoing to us: each sentence on it is a note of that.
    """
    try:
        with Journal(path) as journal:
            yield {node: JournaledVictim(victim, journal) for node, victim in victims.items()}
    except BaseException as error:
        for sentence in heal(path):
            error.add_note(sentence)
        raise


class JournaledVictim:
    """A Victim that notes each act before it is done, and its undoing after."""

    def __init__(self, victim: Victim, journal: Journal) -> None:
        self._victim = victim
        self._journal = journal

    @property
    def node_id(self) -> int:
        return self._victim.node_id

    @property
    def address(self) -> tuple[str, int]:
        return self._victim.address

    @property
    def pid(self) -> int | None:
        return self._victim.pid

    def kill(self) -> None:
        self._will("down")
        self._victim.kill()

    def terminate(self) -> None:
        self._will("down")
        self._victim.terminate()

    def pause(self) -> None:
        self._will("paused")
        self._victim.pause()

    def resume(self) -> None:
        self._victim.resume()
        self._journal.undone(self._entry("paused"))

    def restart(self) -> None:
        self._victim.restart()
        self._journal.undone(self._entry("down"))
        self._journal.undone(self._entry("paused"))  # a frozen process that was ended is not frozen any more

    def alive(self) -> bool:
        return self._victim.alive()

    def paused(self) -> bool:
        return self._victim.paused()

    def _will(self, what: Literal["paused", "down"]) -> None:
        self._journal.will(self._entry(what), what, self._victim)

    def _entry(self, what: str) -> str:
        return f"case-{what}-{self.node_id}"

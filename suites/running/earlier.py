"""What an earlier process of the same run came to, when it was ended by a crash of the client library.

The process in front of a run (ci/child.py) starts another, which takes over what was judged and goes on behind the case
that was running.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from brokertrial.suites.events import RunStarted
from brokertrial.suites.result import CaseResult

NAME = "earlier.json"


class Earlier(msgspec.Struct, frozen=True):
    """The results so far, the case of the crash among them."""

    results: tuple[CaseResult, ...]
    announced: RunStarted
    spent_s: float = 0.0
    crashes: int = 1
    ended: str = ""
    """Why no other case is to be run; empty where the run goes on."""
    interrupted: bool = False
    suspects: tuple[str, ...] = ()
    """Cases that were under way together when the library crashed: they are run again, one by one."""

    @property
    def judged(self) -> frozenset[str]:
        """The cases that are not run again."""
        return frozenset(result.case for result in self.results)

    @property
    def told(self) -> int:
        """How many of the results were shown already: all but the last, if that is the one of the crash."""
        return max(len(self.results) - (not self.suspects), 0)

    def leave(self, folder: Path) -> None:
        """Writes it into a run folder for the next process, which takes it away."""
        (folder / NAME).write_bytes(msgspec.json.encode(self))

    @classmethod
    def taken(cls, folder: Path) -> Earlier | None:
        """Reads it from a run folder, and removes the file: it is no part of the run. None in the first process."""
        path = folder / NAME
        if not path.is_file():
            return None
        found = msgspec.json.decode(path.read_bytes(), type=cls)
        path.unlink()
        return found

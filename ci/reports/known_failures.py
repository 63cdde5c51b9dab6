"""known-failures.toml in the folder of a failed run: its failures as entries for known.toml, to be copied from."""

from __future__ import annotations

from pathlib import Path

from brokertrial.ci.reports.known import lines_to_record
from brokertrial.ci.reports.run_state import RunState, as_typed
from brokertrial.suites.events import RunEvent, RunFinished

NAME = "known-failures.toml"
HEAD = "# New failures of this run. Copy those that you accept, each with a reason, into your file of known failures."


class KnownFailuresWriter:
    """Written once, at the end, where something failed."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def on(self, event: RunEvent) -> None:
        if isinstance(event, RunFinished) and (lines := new_lines(self._state)):
            (self._state.folder / NAME).write_text("\n".join([HEAD, "", *lines]), encoding="utf-8")


def writer(state: RunState) -> KnownFailuresWriter:
    return KnownFailuresWriter(state)


def new_lines(state: RunState) -> list[str]:
    """The entries for every failure that turned the run red."""
    return [
        line
        for result in state.tally.failed
        for line in lines_to_record(result, state.known.unknown(result, state.today))
    ]


def pointer(state: RunState) -> str:
    """Where the entries are that would make these failures known; empty where nothing failed."""
    count = new_lines(state).count("[[known]]")
    failed = len(state.tally.failed)
    if not count or state.in_gate:
        return ""
    entries = f"{count} entries" if count > 1 else "the entry"
    into = as_typed(Path(state.known.path)) if state.known.path else "your --known file"
    several = " A case that fails in several ways has an entry for each; all are needed." if count > failed else ""
    return f"To accept these failures as known: copy {entries} from {state.place}/{NAME} into {into}.{several}"

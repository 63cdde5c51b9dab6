"""known-failures.toml in the folder of a red run: the lines that would make its failures known, to be copied from."""

from __future__ import annotations

from ci.reports.known import lines_to_record
from ci.reports.run_state import RunState
from suites.events import RunEvent, RunFinished

NAME = "known-failures.toml"
MOST_SAID = 3
"""Failures whose lines are shown besides, on the console and in summary.md."""
HEAD = "# What failed and was not known. Copy what you accept into the file that you give as --known, with a reason."


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


def to_say(state: RunState) -> list[str]:
    """What to tell a person: where the lines are, and the lines themselves where they are few."""
    lines = new_lines(state)
    if not lines:
        return []
    count = lines.count("[[known]]")
    where = f"{state.place}/{NAME}"
    told = f"To make {'this failure' if count == 1 else f'these {count} failures'} known, add to your --known file"
    return [f"{told}:", *lines, f"(also in {where})"] if count <= MOST_SAID else [f"{told} lines of {where}"]

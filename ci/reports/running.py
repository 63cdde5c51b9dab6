"""running.json: the cases that are under way, for whoever has to say what a process was at when it crashed."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.events import CaseFinished, CaseStarted, RunEvent, RunFinished

NAME = "running.json"


class Running(msgspec.Struct, frozen=True):
    """A case that was begun. Times are of CLOCK_MONOTONIC, which all processes of a machine share."""

    case: str
    attempt: int
    began_ns: int
    over: bool = False


class RunningWriter:
    """Rewritten with each attempt; gone when the run is over."""

    def __init__(self, state: RunState) -> None:
        self._path = state.folder / NAME
        self._begun: dict[str, Running] = {}

    def on(self, event: RunEvent) -> None:
        if isinstance(event, CaseStarted):
            self._begun = {name: begun for name, begun in self._begun.items() if not begun.over}
            self._begun[event.case] = Running(event.case, event.attempt, time.monotonic_ns())
            self._keep()
        elif isinstance(event, CaseFinished) and (begun := self._begun.get(event.result.case)) is not None:
            self._begun[begun.case] = msgspec.structs.replace(begun, over=True)
            self._keep()
        elif isinstance(event, RunFinished):
            self._path.unlink(missing_ok=True)

    def _keep(self) -> None:
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(list(self._begun.values())))
        fresh.replace(self._path)


def read(folder: Path) -> list[Running]:
    """What a process that ended without a word had under way, and the last that was over; empty before any case."""
    path = folder / NAME
    return msgspec.json.decode(path.read_bytes(), type=list[Running]) if path.is_file() else []


def writer(state: RunState) -> RunningWriter:
    return RunningWriter(state)

"""running.json: the case that is under way, for whoever has to say what a process was at when it crashed."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.events import CaseFinished, CaseStarted, RunEvent, RunFinished

NAME = "running.json"


class Running(msgspec.Struct, frozen=True):
    """The last case that was begun. Times are of CLOCK_MONOTONIC, which all processes of a machine share."""

    case: str
    attempt: int
    began_ns: int
    over: bool = False


class RunningWriter:
    """Rewritten with each attempt; gone when the run is over."""

    def __init__(self, state: RunState) -> None:
        self._path = state.folder / NAME
        self._last: Running | None = None

    def on(self, event: RunEvent) -> None:
        if isinstance(event, CaseStarted):
            self._keep(Running(event.case, event.attempt, time.monotonic_ns()))
        elif isinstance(event, CaseFinished) and self._last is not None and self._last.case == event.result.case:
            self._keep(msgspec.structs.replace(self._last, over=True))
        elif isinstance(event, RunFinished):
            self._path.unlink(missing_ok=True)

    def _keep(self, running: Running) -> None:
        self._last = running
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(running))
        fresh.replace(self._path)


def read(folder: Path) -> Running | None:
    """What a process that ended without a word had under way; None when it had begun no case."""
    path = folder / NAME
    return msgspec.json.decode(path.read_bytes(), type=Running) if path.is_file() else None


def writer(state: RunState) -> RunningWriter:
    return RunningWriter(state)

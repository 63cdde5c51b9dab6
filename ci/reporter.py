"""A run with its reports: every event goes to the writers, the run folder is sealed, known failures count."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from brokertrial.ci import run_folder
from brokertrial.ci.commands.cases import names
from brokertrial.ci.reports import RunWriter, discover
from brokertrial.ci.reports.known import KnownFailures
from brokertrial.ci.reports.run_state import RunState, host, suite_version
from brokertrial.suites.events import RunEvent, RunFinished, RunStarted
from brokertrial.suites.running import run as runs
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import RunResult


def run(options: RunOptions, *listeners: Callable[[RunEvent], object], console: bool = False) -> RunResult:
    """Runs the cases that the options choose and leaves a run folder with its reports.

    Known failures and `min_decided` count for the status. With `console`, a person is told on the standard output.
    Raises BadOptions, UserError or TargetProblem where the options cannot be run at all.
    """
    known = known_failures(options)
    options = options.validated().in_folder()
    reporter = Reporter(options, known, console)
    result = runs.run(options, reporter.on, *listeners)
    return replace(result, status=reporter.state.status)


def known_failures(options: RunOptions) -> KnownFailures:
    """The known failures that the options name; raises UserError where they cannot be read."""
    return KnownFailures.read(Path(options.known), names()) if options.known else KnownFailures()


class Reporter:
    """Keeps the story of a run, feeds the writers, seals the run folder. A writer that fails is named at the end."""

    def __init__(self, options: RunOptions, known: KnownFailures, console: bool = False) -> None:
        self.state = RunState(Path(options.run_dir or ""), known, min_decided=options.min_decided, in_gate=options.gate)
        self._asked = {"target": options.target, "profile": options.profile, "seed": options.seed}
        self._writers: dict[str, RunWriter] = discover(self.state, without=() if console else ("console",))
        self._seal(complete=False)

    def on(self, event: RunEvent) -> None:
        """Takes in one event; the last one closes the run folder."""
        self.state.on(event)
        if isinstance(event, RunStarted):
            self._seal(complete=False)
        for name, writer in self._writers.items():
            self._tell(name, writer, event)
        if isinstance(event, RunFinished):
            for writer in self._writers.values():
                if close := getattr(writer, "close", None):
                    close()
            self._seal(complete=True, status=self.state.status)

    def _tell(self, name: str, writer: RunWriter, event: RunEvent) -> None:
        if name in self.state.broken:
            return
        try:
            writer.on(event)
        except OSError as error:
            self.state.broken[name] = f"{error.strerror}."
        except Exception:  # noqa: BLE001  one writer must never end the run, nor silence the others
            self.state.broken[name] = traceback.format_exc()

    def _seal(self, *, complete: bool, status: int | None = None) -> None:
        facts: dict[str, Any] = {**self._asked, "suite_version": suite_version(), "host": host(), "status": status}
        if started := self.state.run:
            facts |= {
                "target_version": started.target_version,
                "started_at": started.started_at,
                "cases": [info.case for info in started.cases],
                "left_out": {entry.case: entry.reason for entry in started.left_out},
            }
        try:
            run_folder.seal(self.state.folder, facts, complete=complete)
        except OSError as error:
            self.state.broken["run.json"] = f"{error.strerror}."

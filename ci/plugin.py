"""The pytest side of `brokertrial run`: hands every event to the writers and has the last word on the exit status.

It runs in the child process that `ci/child.py` starts. Writers are independent: one that fails is named at the end, the
others go on.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Generator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from brokertrial.ci import manifest
from brokertrial.ci.commands.cases import names
from brokertrial.ci.errors import INTERRUPTED, UserError
from brokertrial.ci.reports import Writer, discover
from brokertrial.ci.reports.known import KnownFailures
from brokertrial.ci.reports.run_state import RunState, host, suite_version
from brokertrial.suites.events import CaseStarted, PhaseChanged, RunEvent, RunFinished, RunStarted

GOES_ON = (CaseStarted, PhaseChanged)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("brokertrial")
    group.addoption("--known", default=None, metavar="FILE", help="failures that are known")
    group.addoption("--min-decided", default=0.0, type=float, metavar="PERCENT", help="of the musts, for all clear")
    group.addoption("--parent-pipe", default=None, type=int, metavar="FD", help="closed when the parent is gone")


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(config.getoption("--run-dir"))
    known_file = config.getoption("--known")
    try:
        known = KnownFailures.read(Path(known_file), names()) if known_file else KnownFailures()
    except UserError as trouble:
        raise pytest.UsageError(str(trouble)) from None
    asked = {name: config.getoption(f"--{name}") for name in ("target", "profile", "seed")}
    reporter = Reporter(RunState(folder, known, min_decided=config.getoption("--min-decided")), asked)
    config.pluginmanager.register(reporter, "brokertrial-reporter")
    signal.signal(signal.SIGINT, reporter.interrupt)
    if (pipe := config.getoption("--parent-pipe")) is not None:
        threading.Thread(target=_end_with_parent, args=(pipe,), daemon=True, name="parent-watch").start()


class Reporter:
    """Receives the events of suites.running.plugin, keeps the story, feeds the writers, seals the run folder."""

    def __init__(self, state: RunState, asked: Mapping[str, Any]) -> None:
        self.state = state
        self.asked = asked
        self.writers: dict[str, Writer] = discover(state)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        self.state.interrupted = True
        raise KeyboardInterrupt

    def pytest_brokertrial_event(self, event: RunEvent) -> None:
        if self.state.interrupted and isinstance(event, GOES_ON):
            raise KeyboardInterrupt  # the first was lost, as one is that is raised in a callback of a client library
        self.state.on(event)
        if isinstance(event, RunStarted):
            self._seal(complete=False)
        for name, writer in self.writers.items():
            self._tell(name, writer, event)

    def _tell(self, name: str, writer: Writer, event: RunEvent) -> None:
        if name in self.state.broken:
            return
        try:
            writer.on(event)
        except OSError as error:
            self.state.broken[name] = f"{error.strerror}."
        except Exception:  # noqa: BLE001  one writer must never end the run, nor silence the others
            self.state.broken[name] = traceback.format_exc()

    def pytest_sessionstart(self) -> None:
        self._seal(complete=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
        """After everybody else: the run folder is sealed and the status is final."""
        result = yield
        if self.state.end is None:
            self.pytest_brokertrial_event(RunFinished(status=int(session.exitstatus), error=_unfinished(session)))
        self._close_writers()
        status = session.exitstatus = self.state.status
        self._seal(complete=True, status=status)
        return result

    def pytest_internalerror(self, excrepr: object) -> None:
        self.state.fault = True
        print(f"brokertrial: internal error:\n{excrepr}", file=sys.__stderr__)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.state.fault = True
            print(f"brokertrial: {report.nodeid} cannot be read:\n{report.longreprtext}", file=sys.__stderr__)

    def _close_writers(self) -> None:
        for writer in self.writers.values():
            if close := getattr(writer, "close", None):
                close()

    def _seal(self, *, complete: bool, status: int | None = None) -> None:
        facts = {**self.asked, "suite_version": suite_version(), "host": host(), "status": status}
        if run := self.state.run:
            facts |= {
                "target_version": run.target_version,
                "started_at": run.started_at,
                "cases": [info.case for info in run.cases],
                "left_out": {entry.case: entry.reason for entry in run.left_out},
            }
        try:
            manifest.write(self.state.folder, facts, complete=complete)
        except OSError as error:
            self.state.broken["run.json"] = f"{error.strerror}."


def _unfinished(session: pytest.Session) -> str:
    if int(session.exitstatus) == INTERRUPTED:
        return "interrupted before the first case"
    return "" if session.testscollected else "no case was run"


def _end_with_parent(pipe: int) -> None:
    """The command line holds the other end: when it dies, even by kill -9, this process heals its faults and ends."""
    select.select([pipe], [], [])
    os.kill(os.getpid(), signal.SIGINT)

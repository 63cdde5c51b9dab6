"""State of a run, built from its events; every report is rendered from it."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from brokertrial.ci.reports.known import KnownFailures
from brokertrial.ci.reports.tally import Tally, local_day
from brokertrial.suites.events import CaseFinished, RunEvent, RunFinished, RunStarted
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.result import CaseResult


@dataclass
class RunState:
    """One run, from its first event to its last. `today` is fixed once, so that every writer agrees."""

    folder: Path
    known: KnownFailures = field(default_factory=KnownFailures)
    today: date = field(default_factory=local_day)
    run: RunStarted | None = None
    results: list[CaseResult] = field(default_factory=list)
    end: RunFinished | None = None
    broken: dict[str, str] = field(default_factory=dict)  # what could not be written, and why
    interrupted: bool = False
    blocks: Callable[[CaseResult], bool] = lambda failed: failed.is_failure  # what fails the run, where it is new
    min_decided: float = 0.0  # per cent of the musts; fewer are never all clear
    in_gate: bool = False  # it is a gate that says what the status is, and what to do about failures
    places: Mapping[str, Path] = field(default_factory=dict)  # of cases whose history is in another run folder
    on_progress: Callable[[str, int, int], None] = field(default=lambda what, done, total: None)

    def on(self, event: RunEvent) -> None:
        """Takes in one event."""
        if isinstance(event, RunStarted):
            self.run = event
        elif isinstance(event, CaseFinished):
            self.results.append(event.result)
        elif isinstance(event, RunFinished):
            self.end = event

    def report_progress(self, what: str, done: int, total: int) -> None:
        """How far the reports are, for whoever shows it."""
        self.on_progress(what, done, total)

    @property
    def tally(self) -> Tally:
        return Tally.of(self.results, self.known, self.today, self.blocks)

    @property
    def status(self) -> int:
        """The exit status, known failures and what could not be written taken into account."""
        if self.interrupted:
            return ExitStatus.INTERRUPTED
        status = self.tally.status(self.end.status if self.end else ExitStatus.PASSED)
        if status == ExitStatus.PASSED and self.shortfall:
            status = ExitStatus.INCONCLUSIVE
        if self.broken and status not in (ExitStatus.FAILED, ExitStatus.INTERRUPTED):
            status = ExitStatus.INTERNAL
        return status

    @property
    def shortfall(self) -> str:
        """A sentence where fewer of the musts were decided than `--min-decided` asks for."""
        percent = self.tally.decided_percent
        if percent >= self.min_decided:
            return ""
        return f"too few musts decided: {percent:.1f} %, --min-decided {self.min_decided:g}"

    @property
    def meaning(self) -> str:
        """What the exit status says of this run."""
        tally = self.tally
        if self.status == ExitStatus.INCONCLUSIVE and not tally.inconclusive and self.shortfall:
            return self.shortfall
        if self.status == ExitStatus.FAILED:
            violated = ["a guarantee was violated"] if tally.failed else []
            return ", and ".join([*violated, *([f"{tally.known_file} is out of date"] if tally.stale else [])])
        return ExitStatus(self.status).meaning

    @property
    def place(self) -> str:
        """The run folder as the user would type it."""
        return as_typed(self.folder)

    def place_of(self, result: CaseResult) -> str:
        """The run folder that has the history of a case."""
        return as_typed(self.places.get(result.case, self.folder))


def as_typed(path: Path) -> str:
    """A path from the working directory, where it lies below that."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def suite_version() -> str:
    try:
        return version("brokertrial")
    except PackageNotFoundError:
        return "not installed"


def host() -> dict[str, str]:
    """What the machine is, without its name."""
    return {
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "machine": platform.machine(),
        "cores": str(os.cpu_count() or "?"),
        "memory": _memory(),
        "python": platform.python_version(),
    }


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{size / 2**30:.0f} GiB"

"""`brokertrial run`: checks what can be checked at once, makes the run folder, and hands over to the child."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from brokertrial.ci import child
from brokertrial.ci.reporter import known_failures
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.suites.running.options import NAME, RunOptions


def run(**words: Any) -> int:
    """Runs what the words of the command line ask for, and returns the exit status."""
    options = RunOptions.parsed(**words)
    known_failures(options)
    options = options.validated()
    click.echo(f"brokertrial {suite_version()}: starting {options.target}, seed {options.seed}")
    return run_in_child(options.in_folder())


def run_in_child(options: RunOptions) -> int:
    """Runs in a process of its own, which a crash of the client library may end, and returns the exit status."""
    folder = Path(options.run_dir or "")
    options.leave()
    try:
        return child.run(folder)
    finally:
        _drop_if_empty(folder)


def _drop_if_empty(folder: Path) -> None:
    """A run that never began leaves no folder behind."""
    if [path.name for path in folder.iterdir()] == [NAME]:
        (folder / NAME).unlink()
        folder.rmdir()
    elif not (folder / "report.html").exists():
        print(f"Run folder: {folder}", file=sys.stderr)

"""`brokertrial demo`: a green and a red run in a minute: a healthy broker, then the same with one planted bug."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

import click

from brokertrial.ci.commands.run import run_in_child
from brokertrial.ci.reports.run_state import as_typed
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.proving.mutants import mutants
from brokertrial.suites.running.options import RunOptions

CASES = (
    "offsets/ends",
    "ordering/one-connection",
    "ordering/pipelined-sends",
    "transactions/all-or-nothing",
)
BUG = "M05"
SEED = 1


def demo(runs: Path, opened: bool) -> int:
    """Runs both. 0 where the healthy broker passed and the bug was found, else what was not as it is meant to be."""
    click.secho("1. A healthy broker: the one that is installed with brokertrial", bold=True)
    healthy, _ = _run("reference", runs)
    click.secho(f"\n2. The same broker with one planted bug: {mutants()[BUG].story}", bold=True)
    broken, folder = _run(f"reference?mutant={BUG}", runs)
    report = folder / "report.html"
    click.echo("")
    if (healthy, broken) == (ExitStatus.PASSED, ExitStatus.FAILED):
        click.secho("The healthy broker passed, and the bug was found. The report, with the evidence:", bold=True)
    else:
        click.secho(f"Not what was expected: exit statuses {healthy} and {broken}, in place of 0 and 1.", fg="red")
    click.echo(f"  {as_typed(report)}")
    click.echo("A broker of yours: `brokertrial targets` says how to name it, `brokertrial run --target ...` tests it.")
    if opened and report.is_file() and _has_browser():
        webbrowser.open(report.as_uri())
    if broken != ExitStatus.FAILED:
        return broken or ExitStatus.INTERNAL
    return healthy


def _run(target: str, runs: Path) -> tuple[int, Path]:
    options = RunOptions(target, select=CASES, seed=SEED, runs=str(runs)).validated().in_folder()
    return run_in_child(options), Path(options.run_dir or "")


def _has_browser() -> bool:
    """Whether a person sits before a browser: not in a pipe, nor where none is installed."""
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return sys.stdout.isatty()

"""`brokertrial compare`: runs of several targets, versions or days as one static site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from brokertrial.ci.comparison import notes, site
from brokertrial.ci.comparison.comparison import compared
from brokertrial.ci.comparison.evidence import pictures
from brokertrial.ci.comparison.load import column_of
from brokertrial.ci.comparison.standing import Standing
from brokertrial.ci.errors import UserError
from brokertrial.suites.exit_status import ExitStatus

MOST = 60
"""Columns: a table of more is read by nobody; `analyze` is for many histories."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the command line says."""

    runs: Sequence[str]
    out: Path
    notes: Sequence[Path] = ()
    baseline: str | None = None
    title: str = site.TITLE
    recheck: bool = False
    """Judge the stored histories again: runs of several versions of the suite are judged by this one."""
    pictures_s: float = 60.0


def compare(wanted: Wanted) -> int:
    """Reads, verifies, compares, writes the site, and prints a line a target."""
    if len(wanted.runs) > MOST:
        raise UserError(f"{len(wanted.runs)} runs are too many for one table: at most {MOST}.")
    said = notes.read(wanted.notes)
    runs = enumerate(wanted.runs, start=1)
    found = [column_of(number, text, said, _tell, recheck=wanted.recheck) for number, text in runs]
    columns = [column for column, _ in found]
    sums = [column.sha256 for column in columns]
    if twice := [column.place for column in columns if sums.count(column.sha256) > 1]:
        raise UserError(f"{' and '.join(twice)} are one and the same run.")
    baseline = None
    if wanted.baseline is not None:
        baseline = next((c for c, text in zip(columns, wanted.runs, strict=True) if text == wanted.baseline), None)
        if baseline is None:
            raise UserError(f"--baseline {wanted.baseline} is none of the runs that are compared.")
    drawn = pictures(found, wanted.pictures_s, tell=_tell)
    comparison = compared(columns, drawn, baseline)
    size = site.write(wanted.out, comparison, wanted.title)
    for place, column in enumerate(columns):
        counts = comparison.counts(place)
        told = ", ".join(f"{counts[standing]} {standing}" for standing in Standing if counts[standing])
        click.echo(f"{column.name:<28} {told}")
    for each in comparison.unlike:
        if each.grave:
            click.echo(f"The runs differ in more than their targets: {each.what}.")
    click.echo(f"{wanted.out}/index.html  {size / 1e6:.1f} MB")
    return ExitStatus.PASSED


def _tell(text: str) -> None:
    click.echo(text, err=True)

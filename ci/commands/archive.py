"""`brokertrial archive`: a run as one file, which `check`, `compare`, `analyze`, `explain` and `replay` read."""

from __future__ import annotations

from pathlib import Path

import click

from brokertrial.ci import run_archive
from brokertrial.ci.errors import UserError
from brokertrial.ci.run_location import find
from brokertrial.suites.exit_status import ExitStatus


def archive(text: str, out: Path | None) -> int:
    """Packs a closed run, after every file of it was verified, and prints where the archive is."""
    place = find(text)
    if place.run is None or place.case is not None or place.archive is not None:
        raise UserError(f"{text} is not a run folder.", "brokertrial archive RUN")
    run = place.run.resolve()
    file = out or run.with_name(run.name + run_archive.SUFFIX)
    if file.suffix != run_archive.SUFFIX:
        raise UserError(f"{file}: the name of an archive ends with {run_archive.SUFFIX}.")
    if not file.parent.is_dir():
        raise UserError(f"{file} cannot be written: there is no folder {file.parent}.")
    size = run_archive.pack(run, file)
    click.echo(f"{_shown(file)}  {size / 1e6:,.1f} MB\nRe-check it: brokertrial check {_shown(file)}")
    return ExitStatus.PASSED


def _shown(file: Path) -> str:
    """As the user would type it."""
    try:
        return str(file.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(file)

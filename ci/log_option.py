"""`--log-file`, an option of every command."""

from __future__ import annotations

from pathlib import Path

import click

from brokertrial import logs
from brokertrial.ci.errors import UserError


def _begin_log(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    try:
        logs.to_file(Path(path))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from None


LOG_FILE = click.Option(
    ["--log-file"],
    type=click.Path(dir_okay=False),
    metavar="FILE",
    expose_value=False,
    is_eager=True,
    callback=_begin_log,
    help="Append what every process does, one JSON object a line.",
)

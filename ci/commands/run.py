"""`brokertrial run`: checks what can be checked at once, makes the run folder, and hands over to the child."""

from __future__ import annotations

import fnmatch
import random
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import click

from brokertrial.ci import child, run_folder
from brokertrial.ci.commands.cases import names
from brokertrial.ci.errors import UserError, nearest
from brokertrial.ci.reports.known import KnownFailures
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import CASES
from brokertrial.suites.running import requirements
from brokertrial.suites.targets import open_target

LARGEST_SEED = 2**31 - 1


def run(
    target: str,
    select: Sequence[str],
    deselect: Sequence[str],
    profile: str | None,
    budget: float | None,
    seed: int | None,
    known: str | None,
    claims: str | None,
    keep: str,
    runs: str,
    unproven: str = "warn",
    require: str = requirements.CORE,
    min_decided: float = 0.0,
) -> int:
    """Runs the trial and returns its exit status."""
    ids = names()
    for pattern in (*select, *deselect):
        _must_match(pattern, ids)
    if known:
        KnownFailures.read(Path(known), ids)
    _must_exist(claims)
    _must_be_areas(require)
    if seed is None:
        seed = random.SystemRandom().randint(1, 999_999)
    options = ["--target", target, "--seed", str(seed), "--keep", keep, "--unproven", unproven, "--require", require]
    options += ["--min-decided", str(min_decided)]
    options += ["--profile", profile or ("full" if select else "smoke")]
    options += ["--budget", str(budget)] if budget is not None else []
    for name in select:
        options += ["--select", name]
    for name in deselect:
        options += ["--deselect", name]
    options += ["--known", str(Path(known).resolve())] if known else []
    options += ["--claims", str(Path(claims).resolve())] if claims else []
    _must_be_a_target(target)
    folder = run_folder.new_run(Path(runs), target, seed)
    click.echo(f"brokertrial {suite_version()}: starting {target}, seed {seed}")
    try:
        return child.run(folder, options, [str(CASES)])
    finally:
        _drop_if_empty(folder)


def _must_match(pattern: str, ids: Collection[str]) -> None:
    if not fnmatch.filter(ids, pattern):
        raise UserError(f"There is no case `{pattern}`.", nearest(pattern, ids) or "`brokertrial cases` lists them.")


def _must_be_areas(require: str) -> None:
    try:
        requirements.parse(require)
    except requirements.UnknownArea as error:
        raise UserError(f"--require: {error}.") from None


def _must_be_a_target(text: str) -> None:
    """Fails at once on a string that names nothing, before a run folder is made. Nothing is started."""
    with Scratch("target") as scratch:
        open_target(text, Path(scratch))


def _must_exist(file: str | None) -> None:
    if file and not Path(file).is_file():
        raise UserError(f"{file}: there is no such file.")


def _drop_if_empty(folder: Path) -> None:
    """A run that never began leaves no folder behind."""
    try:
        folder.rmdir()
    except OSError:
        print(f"Run folder: {folder}", file=sys.stderr) if not (folder / "report.html").exists() else None

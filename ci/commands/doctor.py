"""`brokertrial doctor`: what this machine and a target can do, and what killed runs left on a cluster and here."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from brokertrial.checkers.linearizability.porcupine.build import installed_go
from brokertrial.ci import run_folder
from brokertrial.ci.errors import UserError
from brokertrial.faults.journal import heal_run
from brokertrial.histories import tempdirs
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.probe.failures import BrokerAtFault, NotApplicable, Unclear
from brokertrial.suites.running import extended
from brokertrial.suites.targets import doctor as ward
from brokertrial.suites.targets import escaped

EXTRAS = {"Java": "brokertrial[java]", "Go": "brokertrial[go]"}
"""Which extra of the package brings it."""


def doctor(target: str | None, clean: str | None, toxiproxy: str | None = None) -> int:
    """Prints what was found; 1 when the target cannot do what it says that it can."""
    if clean is not None:
        return _clean(clean)
    found = ward.examine(target) if target else list(map(_with_extra, ward.machine(toxiproxy)))
    for finding in map(_in_column, found):
        click.echo(f"{finding.ability:<14} {finding.state:<11} {finding.detail}".rstrip())
    for place, groups in extended.load().items():
        held = "; ".join(f"{group}: {', '.join(names)}" for group, names in groups.items())
        click.echo(f"{'extension':<14} {'works':<11} {place} ({held})")
    if left := tempdirs.left_behind():
        folders = f"{len(left)} temporary folder{'s' * (len(left) > 1)}"
        click.echo(f"{'leftovers':<14} {folders} of killed processes of this user, {_ages(left)}: doctor --clean")
    if orphans := escaped.orphans():
        processes = f"{len(orphans)} process{'es' * (len(orphans) > 1)}"
        click.echo(f"{'leftovers':<14} {processes} of nodes of runs that were killed: doctor --clean")
    return ExitStatus.FAILED if target and any(finding.state == "does not" for finding in found) else ExitStatus.PASSED


def _ages(folders: Sequence[Path]) -> str:
    """`3 min old`, `3 min to 2 h old`: when they were last written to."""
    times = []
    for folder in folders:
        with suppress(OSError):  # removed meanwhile
            times.append(folder.stat().st_mtime)
    ages = dict.fromkeys(_age(time.time() - at) for at in sorted(times, reverse=True)[:: max(1, len(times) - 1)])
    return f"{' to '.join(ages)} old" if ages else "gone meanwhile"


def _age(seconds: float) -> str:
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _with_extra(finding: ward.Ability) -> ward.Ability:
    """What an extra of this package brings need not be on the PATH; what is missing has an extra that brings it."""
    if finding.state != "does not" or finding.ability not in EXTRAS:
        return finding
    if finding.ability == "Go" and shutil.which("go") is None and (go := installed_go()) is not None:
        return _of_go(go)
    return replace(
        finding, detail=f"{finding.detail.rstrip('.')}; `pip install '{EXTRAS[finding.ability]}'` brings one"
    )


def _of_go(go: Path) -> ward.Ability:
    try:
        done = subprocess.run([go, "version"], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return ward.Ability("Go", "does not", f"`{go} version` fails: {problem}")
    said = done.stdout.strip() if done.returncode == 0 else f"`{go} version` fails"
    return ward.Ability("Go", "does not" if done.returncode else "works", f"{said} at {go}")


def _in_column(finding: ward.Ability) -> ward.Ability:
    """`network: bandwidth`, `tried` as `network`, `bandwidth: tried`: the first column is narrow."""
    kind, _, name = finding.ability.partition(": ")
    if not name:
        return finding
    return replace(finding, ability=kind, detail=f"{name.removeprefix(f'{kind} ')}: {finding.detail}")


def _clean(run: str) -> int:
    """Removes the temporary folders of processes that are dead, and ends what they left running; where a run is named,
    what that left elsewhere too."""
    if run:
        _must_be_over(Path(run))
    removed = sum(map(tempdirs.remove, tempdirs.left_behind()))
    click.echo(f"Removed temporary folders of processes that were killed: {removed}.")
    for name in ward.remove_containers():
        click.echo(f"removed container {name}")
    for number in escaped.end_orphans():
        click.echo(f"ended process {number}, of a node that a killed run had started")
    return _clean_run(Path(run)) if run else ExitStatus.PASSED


def _must_be_over(run: Path) -> None:
    run_folder.read(run)
    if tempdirs.is_held(run):
        raise UserError(f"{run} is still under way: end it first, or wait for its end.")


def _clean_run(run: Path) -> int:
    """Undoes what a killed run left of its faults; removes the data of its nodes, and from the cluster the topics and
    groups that it wrote down, and nothing else."""
    from brokertrial.suites.running.cleanup import RESOURCES_FILE, clean_run

    shutil.rmtree(run / "target" / "data", ignore_errors=True)
    for sentence in heal_run(run):
        click.echo(sentence)
    if not (run / RESOURCES_FILE).is_file():
        raise UserError(f"{run} never reached its target: there is nothing to remove.")
    try:
        topics, groups = clean_run(run)
    except (BrokerAtFault, NotApplicable, Unclear, OSError) as problem:
        raise UserError(f"The cluster of {run} cannot be cleaned: {problem}.", status=ExitStatus.NOT_READY) from None
    for kind, names in (("topic", topics), ("group", groups)):
        for name in names:
            click.echo(f"removed {kind} {name}")
    click.echo(f"{len(topics)} topics and {len(groups)} groups of this run were there; nothing else was touched.")
    return ExitStatus.PASSED

"""`brokertrial gate`: a run, a baseline and the last good run become one exit status, and what a CI system shows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from brokertrial.ci.commands.cases import names
from brokertrial.ci.commands.run import run_in_child
from brokertrial.ci.errors import UserError
from brokertrial.ci.gate import baseline as baselines
from brokertrial.ci.gate import causes, files, github, last_run, policy
from brokertrial.ci.gate.decision import counted
from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.gate.last_run import LastRun
from brokertrial.ci.gate.refusal import refused
from brokertrial.ci.gate.runs import Runs, conduct
from brokertrial.ci.reports import known_failures
from brokertrial.ci.reports.causes import ways_of
from brokertrial.ci.reports.known import KnownFailures
from brokertrial.ci.reports.run_state import as_typed, suite_version
from brokertrial.ci.reports.tally import Tally, local_day
from brokertrial.extensions import BrokenExtension
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.running.bad_options import BadOptions
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.targets.base import TargetProblem


class GateWords(msgspec.Struct, frozen=True):
    """What the command line says beside the options of the run."""

    baseline: str
    last: str | None = None
    save_last: str | None = None
    policy: str | None = None
    changed_since: str | None = None
    write_baseline: bool = False
    expires_in: int | None = None
    out: str = "gate"


def gate(words: GateWords, **of_the_run: Any) -> int:
    """Runs, decides, writes the files, and returns the exit status; what cannot be run is raised and leaves none."""
    files.remove(Path(words.out))
    try:
        return _gated(words, of_the_run)
    except (UserError, BadOptions, BrokenExtension, TargetProblem) as trouble:
        refused(Path(words.out), str(trouble), _status_of(trouble))
        raise


def _status_of(trouble: Exception) -> int:
    if isinstance(trouble, UserError):
        return trouble.status
    return trouble.exit_status if isinstance(trouble, TargetProblem) else ExitStatus.USAGE


def _gated(words: GateWords, of_the_run: Mapping[str, Any]) -> int:
    if words.expires_in is not None and not words.write_baseline:
        raise UserError("--expires-in says when the entries expire that --write-baseline writes: it is missing.")
    rules = policy.read(Path(words.policy)) if words.policy else policy.Policy()
    place = Path(words.baseline)
    (baselines.must_be_new if words.write_baseline else baselines.must_exist)(place)
    known = KnownFailures() if words.write_baseline else KnownFailures.read(place, names())
    options = RunOptions.parsed(**of_the_run, known=None if words.write_baseline else words.baseline, gate=True)
    options = options.validated()
    rules = msgspec.structs.replace(rules, min_decided=max(rules.min_decided, options.min_decided))
    last = last_run.named(Path(words.last)) if words.last else None
    options = _changed_first(options, words.changed_since)
    click.echo(f"brokertrial {suite_version()}: gate for {options.target}, seed {options.seed}")
    runs = conduct(options, rules.retries, run_in_child, click.echo)
    if words.last and last is None and runs.run is not None:
        last = last_run.newest_good(Path(words.last), options.target, runs.run)
    if words.write_baseline:
        known = _first_baseline(place, runs, rules, options.target, words.expires_in or baselines.EXPIRES_IN_DAYS)
    told = Gated.of(
        runs, known, rules, local_day(), target=options.target, profile=options.profile, baseline=place, last=last
    )
    _leave(told, words)
    return told.decision.status


def _changed_first(options: RunOptions, since: str | None) -> RunOptions:
    """The same options, with what failed or changed since a run at the head."""
    if since is None:
        return options
    if not Path(since).exists():
        click.echo(f"{since} is not there: no case runs before its time")
        return options
    first = LastRun.read(Path(since)).to_run_first()
    cases = f"{counted(len(first), 'case')} failed in {since}, or without a verdict there, or new or changed since"
    click.echo(f"{cases}: run first, among those that other cases rest on")
    return msgspec.structs.replace(options, first=first)


def _first_baseline(place: Path, runs: Runs, rules: policy.Policy, target: str, days: int) -> KnownFailures:
    """Writes the baseline of what failed; none after a run that did not come to its end."""
    if runs.run is None or runs.ended != ExitStatus.PASSED:
        click.echo(f"{place} is not written: the run did not come to its end")
        return KnownFailures(str(place))
    failed = sorted(Tally.of(runs.results, blocks=rules.blocks).failed, key=lambda one: ways_of(one)[0][2])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(baselines.text(target, failed, local_day(), days), encoding="utf-8")
    known = KnownFailures.read(place, names())
    what = f"{counted(len(known.entries), 'known failure')}, the most harmful first, each for {counted(days, 'day')}"
    click.echo(f"{place}: {what}; read them before you commit it")
    return known


def _leave(told: Gated, words: GateWords) -> None:
    """Files, console, GitHub, and the run for the next time."""
    out = Path(words.out)
    files.write(told, out)
    kept = ""
    if told.decision.is_green:
        last_run.keep(told.state, told.runs.folder / last_run.RECORD)
        kept = _save(told, Path(words.save_last)) if words.save_last else ""
    _say(told, out, kept)
    if github.is_here(os.environ):
        click.echo(github.tell(told, out, os.environ), nl=False)


def _save(told: Gated, folder: Path) -> str:
    """Keeps the results of this run as the last good one's, and says so; a part does not replace the whole."""
    assert told.runs.run is not None, "a green run has begun"
    if last_run.is_part_of_what_is_kept(told.runs.run, folder):
        return f"not kept: the last good run in {folder} has more cases; remove it to begin anew"
    last_run.keep(told.state, folder)
    return f"kept as the last good run: {folder}"


def _say(told: Gated, out: Path, kept: str) -> None:
    decision = told.decision
    color = {ExitStatus.PASSED: "green", ExitStatus.FAILED: "red"}.get(decision.status, "yellow")
    click.echo("")
    for objection in decision.objections:
        click.secho(f"  {objection.sentence}", fg=color)
    for line in causes.lines(told):
        click.echo(f"    {line}")
    for note in filter(None, (*told.notes, kept)):
        click.echo(f"  {note}")
    if pointer := known_failures.pointer(told.state):
        click.echo(f"  {pointer}")
    if told.runs.folder.is_dir():
        click.echo(f"Report: {as_typed(told.runs.folder)}/report.html; for CI: {as_typed(out)}/")
    word = "passed" if decision.is_green else "failed" if decision.status == ExitStatus.FAILED else "did not decide"
    why = "" if decision.is_green else f": {decision.meaning}"
    click.secho(f"Gate {word} (exit status {int(decision.status)}){why}", fg=color, bold=True)

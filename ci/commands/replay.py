"""`brokertrial replay`: the same case, target, seed and schedule once more, and whether the same anomaly came back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci import run_folder
from brokertrial.ci.commands.run import run_in_child
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import results as stored
from brokertrial.ci.reports.known import failures
from brokertrial.ci.run_location import find
from brokertrial.suggestion import nearest
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.options import RunOptions


def replay(text: str, times: int, runs: Path, cases: Sequence[str] = ()) -> int:
    """Runs the case `times` times; 1 when an anomaly was seen, else the status of the last run."""
    place = find(text)
    if place.run is None or place.case is None:
        raise UserError(f"{text} names no case of a run.", "brokertrial replay RUN/CASE")
    run_folder.verify(place.run)
    header, results, _ = stored.read(place.run)
    before = {result.case: result for result in results}.get(place.case)
    if before is None:
        raise UserError(f"{place.run} has no case `{place.case}`.", nearest(place.case, [r.case for r in results]))
    wanted = _marks(before)
    seed = before.seed or header.run.seed  # of the attempt that was judged: a later one has a later seed
    options = RunOptions(
        header.run.target,
        profile=header.run.profile,
        seed=seed,
        select=(place.case,),
        cases=tuple(cases),
        runs=str(runs),
    ).validated()
    same, failed = 0, False
    status: int = ExitStatus.PASSED
    for number in range(1, times + 1):
        again, status = _once(options)
        if status == ExitStatus.INTERRUPTED:
            break
        failed |= status == ExitStatus.FAILED
        came_back = again is not None and not wanted.isdisjoint(_marks(again))
        same += came_back
        click.echo(f"replay {number} of {times}: {_said(again, came_back)}")
    click.echo(_in_all(before, same, times))
    return ExitStatus.FAILED if failed and status != ExitStatus.INTERRUPTED else status


def _in_all(before: CaseResult, same: int, times: int) -> str:
    if before.verdict is Verdict.PASS:
        return f"Passed again: {same} of {times}."
    what = ", ".join(sorted(_marks(before))).rstrip(".")
    return f"{same} of {times} reproduced {what}." + ("" if same else " Not reproduced.")


def _once(options: RunOptions) -> tuple[CaseResult | None, int]:
    options = options.in_folder()
    status = run_in_child(options)
    try:
        _, results, _ = stored.read(Path(options.run_dir or ""))
    except UserError:
        return None, status
    return (results[0] if results else None), status


def _marks(result: CaseResult) -> set[str]:
    """What a result is recognised by: the names of what went wrong, or its verdict."""
    return {failure.signature for failure in failures(result)} or {result.verdict.name.lower().replace("_", " ")}


def _said(result: CaseResult | None, came_back: bool) -> str:
    if result is None:
        return "no result"
    if came_back:
        return "passed again" if result.verdict is Verdict.PASS else "reproduced"
    word = ", ".join(sorted(_marks(result))) if result.verdict is Verdict.FAIL else result.verdict.name.lower()
    return f"not reproduced ({word})"

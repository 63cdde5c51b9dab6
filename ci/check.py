"""`brokertrial check`: the folder is verified, the stored histories are judged again, the verdicts compared."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from checkers.verdict import Verdict
from ci import manifest
from ci.details import details, headline
from ci.foreign import check_foreign
from ci.places import find
from ci.tally import Tally
from ci.trouble import Trouble, nearest
from ci.writers import results as stored
from suites.result import CaseResult
from suites.stored import judge_stored


def check(
    text: str,
    form: str | None = None,
    engine: str = "duckdb",
    assume: str = "",
    strict: bool = False,
    as_json: bool = False,
) -> int:
    """Prints every verdict with its proof and returns the exit status."""
    if form is not None:
        return check_foreign(Path(text), form, engine, assume, strict, as_json)
    place = find(text)
    if place.run is None:
        assert place.history is not None
        judged = [_judge(place.history)]
    elif place.case is None:
        judged = [_again(place.run, result) for result in _verified(place.run)]
    else:
        judged = [_again(place.run, _one(place.run, place.case))]
    for result in judged:
        _print(result, str(place.run or place.history))
    tally = Tally.of(judged)
    click.echo(tally.line())
    return tally.status()


def _verified(run: Path) -> list[CaseResult]:
    manifest.verify(run)
    _, results, _ = stored.read(run)
    return results


def _one(run: Path, case: str) -> CaseResult:
    """The stored result of one case. A killed run has no seal; its closed histories can be judged all the same."""
    if manifest.read(run)["complete"]:
        results = {result.case: result for result in _verified(run)}
        if case not in results and "~" in case:
            return _attempt(run, case)
        if case not in results:
            raise Trouble(f"{run} has no case `{case}`.", nearest(case, results))
        return results[case]
    return _attempt(run, case)


def _attempt(run: Path, case: str) -> CaseResult:
    """A history by the name of its folder: `area.name`, or `area.name~2` of a second attempt."""
    folder = run / "histories" / case.replace("/", ".")
    if not folder.is_dir():
        raise Trouble(f"{run} has no history of `{case}`.", nearest(folder.name, _names(run / "histories")))
    return msgspec.structs.replace(_judge(folder), history=str(folder.relative_to(run)))


def _again(run: Path, before: CaseResult) -> CaseResult:
    """Judges one case again; one without a history keeps what was said of it."""
    if not before.history or not (run / before.history).is_dir():
        return before
    after = _judge(run / before.history)
    if after.verdict is not before.verdict:
        click.echo(f"{before.case}: {before.verdict.name} when it was run, {after.verdict.name} now.")
    return msgspec.structs.replace(
        before, verdict=after.verdict, reason=after.reason, anomalies=after.anomalies, evidence=after.evidence
    )


def _judge(folder: Path) -> CaseResult:
    from histories.header import HistoryRefused

    try:
        return judge_stored(folder)
    except HistoryRefused as refused:
        raise Trouble(str(refused)) from None


def _print(result: CaseResult, place: str) -> None:
    if result.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE):
        click.echo(headline(result))
    else:
        click.echo(details(result, place))


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []

"""`brokertrial check`: the folder is verified, the stored histories are judged again, the verdicts compared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci import run_folder
from brokertrial.ci.commands.check_foreign import check_foreign
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import informational
from brokertrial.ci.reports import results as stored
from brokertrial.ci.reports.details import details, headline
from brokertrial.ci.reports.findings import STATUS, STRICT, Findings, ListedAnomaly
from brokertrial.ci.reports.tally import Tally
from brokertrial.ci.run_location import find
from brokertrial.suggestion import nearest
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.rejudge import can_be_judged_again, judge_stored
from brokertrial.suites.running.run_folder import HISTORIES, folder_name, history_names

if TYPE_CHECKING:
    from brokertrial.checkers.judge import Judgement
    from brokertrial.histories.reader import History
    from brokertrial.suites.trials.verdict import JudgeFunction


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
    if assume:
        raise UserError("--assume applies to --format only; brokertrial histories store client settings.")
    place, judging = find(text), Judging(engine, strict, as_json)
    if strict and not as_json:
        click.echo(STRICT)
    if place.run is None:
        assert place.history is not None
        judged = [judging.judge(place.history)]
    elif place.case is None:
        judged = [_again(place.run, result, judging, as_json) for result in _verified(place.run)]
    else:
        judged = [_again(place.run, _one(place.run, place.case, judging), judging, as_json)]
    tally = Tally.of(judged)
    kept = place.run is None or any(_kept(place.run, result) for result in judged)
    status = tally.status() or (ExitStatus.PASSED if kept else ExitStatus.NOTHING_JUDGED)
    if as_json:
        click.echo(judging.findings(judged, status).as_json())
        return status
    for result in judged:
        _print(result, place.name)
    click.echo(tally.line())
    if judged and not kept:
        click.echo("No history was kept; these are the verdicts of the original run.")
    return status


class Judging:
    """Judges stored cases, and keeps what their settings permit."""

    def __init__(self, engine: str, strict: bool, permitted: bool) -> None:
        self.plain = engine == "duckdb" and not strict and not permitted
        self.engine, self.strict, self.listing = engine, strict, permitted
        self.permitted: dict[str, list[Anomaly]] = {}

    def judge(self, folder: Path) -> CaseResult:
        """The verdict on a stored history."""
        from brokertrial.histories.header import HistoryRefused

        listed: list[Anomaly] = []
        try:
            result = judge_stored(folder, None if self.plain else self._put(listed))
        except HistoryRefused as refused:
            raise UserError(str(refused)) from None
        self.permitted[result.case] = listed
        return result

    def _put(self, listed: list[Anomaly]) -> JudgeFunction:
        from brokertrial.ci.judging import CheckRunner

        putting = CheckRunner(self.engine, self.strict, self.listing)

        def put(history: History, names: Collection[str] | None) -> Judgement:
            found = putting(history, names)
            listed.extend(found.permitted)
            return found

        return put

    def findings(self, results: Sequence[CaseResult], status: int) -> Findings:
        """All of it as one object."""
        verdicts = {number: verdict for verdict, number in STATUS.items()}
        found = [ListedAnomaly(anomaly, True, result.case) for result in results for anomaly in result.anomalies]
        found += [ListedAnomaly(anomaly, False, case) for case, some in self.permitted.items() for anomaly in some]
        told = {result.case: result for result in results if result.verdict is not Verdict.PASS and result.reason}
        return Findings(
            verdict=verdicts.get(status, Verdict.INCONCLUSIVE),
            found=found,
            reasons={
                case: f"{result.verdict}: {result.reason.sentence}" for case, result in told.items() if result.reason
            },
            strict=self.strict,
        )


def _verified(run: Path) -> list[CaseResult]:
    run_folder.verify(run)
    _, results, _ = stored.read(run)
    return results


def _one(run: Path, case: str, judging: Judging) -> CaseResult:
    """The stored result of one case. A killed run has no seal; its closed histories can be judged all the same."""
    if run_folder.read(run)["complete"]:
        results = {result.case: result for result in _verified(run)}
        if case not in results and "~" in case:
            return _attempt(run, case, judging)
        if case not in results:
            raise UserError(f"{run} has no case `{case}`.", nearest(case, results))
        return results[case]
    return _attempt(run, case, judging)


def _attempt(run: Path, case: str, judging: Judging) -> CaseResult:
    """A history by the name of its folder: `area.name`, or `area.name~2` of a second attempt."""
    folder = run / HISTORIES / folder_name(case)
    if not folder.is_dir():
        raise UserError(f"{run} has no history of `{case}`.", nearest(folder.name, history_names(run)))
    return msgspec.structs.replace(judging.judge(folder), history=str(folder.relative_to(run)))


def _again(run: Path, before: CaseResult, judging: Judging, quiet: bool) -> CaseResult:
    """Judges one case again; one without a history keeps what was said of it."""
    if not _kept(run, before) or not can_be_judged_again(before):
        return before
    after = judging.judge(run / before.history)
    if not quiet and after.verdict is not before.verdict:
        click.echo(f"{before.case}: was {before.verdict.name}, is now {after.verdict.name}.")
    return before.judged_again(after)


def _kept(run: Path, result: CaseResult) -> bool:
    """Whether its history is still there: `--keep failed` drops those that passed."""
    return bool(result.history) and (run / result.history).is_dir()


def _print(result: CaseResult, place: str) -> None:
    if result.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE):
        click.echo("\n".join([headline(result), *informational.lines(result)]))
    else:
        click.echo(details(result, place))

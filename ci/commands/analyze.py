"""`brokertrial analyze`: many histories judged and profiled in one Spark job."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from brokertrial.checkers.judge import Judgement
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci import run_archive
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports.tally import WORDS
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.guarantees import registry
from brokertrial.suites.situations.pairs import case_named
from brokertrial.suites.trials.verdict import judged

if TYPE_CHECKING:
    from brokertrial.spark_analysis.job import HistoryResult
    from brokertrial.spark_analysis.results import Results


def analyze(places: Sequence[str], master: str, out: str, conf: Sequence[str] = ()) -> int:
    """Judges, profiles, writes `out`, prints the verdicts and returns the exit status."""
    job, results, session, tables = _modules()
    began = time.monotonic()
    try:
        spark = session.open_session(master, **{**session.light(master, places), **_settings(conf)})
    except (session.JavaMissing, session.NoSession) as problem:
        raise UserError(str(problem)) from None
    with session.progress(spark, _tell) as tell:
        try:
            opened, refused = job.open_all(spark, [_folder_of(place) for place in places], tell)
        except job.NothingThere as problem:
            raise UserError(str(problem)) from None
        session.fit(spark, tables.rows_in([each.history for each in opened]), _settings(conf))
        folder = _folder(out)
        outcome = job.analyze(spark, opened, folder, tell)
        found = results.results_of(outcome, refused, master, time.monotonic() - began, conclude)
        tell("writing")
        from brokertrial.ci.reports.analysis_page import page

        results.write(spark, folder, found, page(outcome, found))
    _print(found, out)
    return status(found)


def _modules() -> tuple[ModuleType, ...]:
    try:
        from brokertrial.spark_analysis import job, results, session, tables
    except ImportError as missing:
        raise UserError(
            f"`brokertrial analyze` needs PySpark, which is not installed ({missing}).",
            "pip install 'brokertrial[spark,java]'",
        ) from None
    return job, results, session, tables


def _folder_of(place: str) -> str:
    """The place, or the folder that an archive is unpacked to."""
    return str(run_archive.unpacked(Path(place))) if run_archive.is_archive(Path(place)) else place


def _settings(conf: Sequence[str]) -> dict[str, str]:
    pairs = [setting.partition("=") for setting in conf]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise UserError(f"--conf {wrong[0]}: a Spark setting is NAME=VALUE.")
    return {name: value for name, _, value in pairs}


def _folder(out: str) -> str:
    return out.rstrip("/") if "://" in out else f"file://{Path(out).absolute()}"


def _tell(text: str) -> None:
    click.echo(text, err=True)


def conclude(found: HistoryResult) -> tuple[Verdict, list[str]]:
    """The verdict of `check` on what Spark found: a trial of ours has preconditions, which withhold a pass here too."""
    from brokertrial.spark_analysis.results import verdict_of

    history = found.opened.history
    case = case_named(history.header.case)
    if case is None:
        return verdict_of(found)
    if case.kind == "wire":
        return Verdict.NOT_APPLICABLE, ["a case of single answers, which have no rows: `brokertrial check` judges it"]
    outcome = judged(case, history, lambda _, names: found.judgement if names is None else Judgement())
    if outcome.verdict is Verdict.FAIL and outcome.anomalies:
        found.judgement.anomalies[:] = dict.fromkeys((*outcome.anomalies, *found.judgement.anomalies))
        return Verdict.FAIL, []
    return outcome.verdict, [f"{outcome.reason.kind}: {outcome.reason.sentence}"] if outcome.reason else []


def status(found: Results) -> int:
    """As for `run`: a failed `must` outranks all else; a check that missed its canary makes the job our own error."""
    kinds = {case.verdict for case in found.cases}
    if any(_must(case.anomalies) or not case.anomalies for case in found.cases if case.verdict == "fail"):
        return ExitStatus.FAILED
    if found.wrong:
        return ExitStatus.INTERNAL
    if "inconclusive" in kinds or found.refused:
        return ExitStatus.INCONCLUSIVE
    return ExitStatus.PASSED if kinds & {"pass", "fail"} else ExitStatus.NOTHING_JUDGED


def _must(anomalies: Sequence[object]) -> bool:
    """Whether the broker broke a `must`; a guarantee that the registry lacks counts as one."""
    for anomaly in anomalies:
        known = registry().get(getattr(anomaly, "guarantee", ""))
        if getattr(anomaly, "attribution", "") == "broker" and (known is None or known.level == "must"):
            return True
    return False


def _print(found: Results, out: str) -> None:
    for case in found.cases:
        if case.verdict in ("fail", "inconclusive"):
            click.echo(f"{case.verdict.upper():12}  {case.case}  {case.target}  {case.place}")
            for anomaly in case.anomalies[:3]:
                click.echo(f"              {anomaly.name}: {anomaly.sentence}")
            for reason in case.reasons[:3]:
                click.echo(f"              {reason}")
    for place, why in found.refused.items():
        click.echo(f"REFUSED       {place}: {why}")
    for wrong in found.wrong:
        click.echo(f"NOT PROVEN    {wrong}: planted anomalies were not found as they should be", err=True)
    counts = [f"{sum(case.verdict == kind.name.lower() for case in found.cases)} {WORDS[kind]}" for kind in Verdict]
    click.echo(f"{', '.join(counts)}, {len(found.refused)} refused; {out}/report.html, results.json")
    sys.stdout.flush()

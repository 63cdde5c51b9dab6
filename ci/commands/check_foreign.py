"""`brokertrial check --format`: reads and checks a history of another harness."""

from __future__ import annotations

from pathlib import Path

import click

from brokertrial.checkers.judge import judge_by
from brokertrial.ci.engines import opened
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports.findings import Findings, findings_of
from brokertrial.histories.formats.settings import BadSetting, Settings
from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History
from brokertrial.histories.tempdirs import Scratch

FORMATS = ("jepsen", "jsonl")


def check_foreign(file: Path, form: str, engine: str, assume: str, strict: bool, as_json: bool) -> int:
    """Prints what is found in the file and returns the exit status."""
    if file.is_dir():
        raise UserError(f"{file} is a folder; --format {form} reads one file.")
    try:
        with Scratch("foreign") as folder:
            read = _jepsen if form == "jepsen" else _jsonl
            findings = read(file, Path(folder), engine, assume, strict)
    except (HistoryRefused, BadSetting) as refused:
        raise UserError(str(refused)) from None
    if as_json:
        click.echo(findings.as_json())
    else:
        findings.print()
    return findings.status


def _jepsen(file: Path, folder: Path, engine: str, assume: str, strict: bool) -> Findings:
    from brokertrial.checkers.jepsen import jepsen_checks
    from brokertrial.histories.formats.jepsen import import_jepsen

    reader = import_jepsen(file, folder / "history", Settings.of(assume))
    history = History.open(folder / "history")
    checks = jepsen_checks()
    with opened(engine, [history]) as opened_engine:
        judgement = judge_by(checks.values(), opened_engine, [history])[0]
    return findings_of(judgement, strict, reader.legend)


def _jsonl(file: Path, folder: Path, engine: str, assume: str, strict: bool) -> Findings:
    from brokertrial.ci.judging import CheckRunner, assumed_settings, with_client_settings
    from brokertrial.histories.formats.jsonl import import_jsonl
    from brokertrial.histories.formats.settings import assumptions

    stated = assumptions(assume)
    reader = import_jsonl(file, folder / "history")
    history = History.open(folder / "history")
    if stated:
        history = with_client_settings(history, folder / "assumed", assumed_settings(stated))
    judgement = CheckRunner(engine, strict, permitted=True)(history)
    return findings_of(judgement, strict, reader.legend)

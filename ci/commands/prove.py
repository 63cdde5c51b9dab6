"""`brokertrial prove`: keeps, beside cases of your own, that they passed on Apache Kafka, so that they may accuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci import run_folder
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import results as stored
from brokertrial.extensions import source_of
from brokertrial.histories.reader import History
from brokertrial.suites.case import Case, by_id
from brokertrial.suites.events import RunStarted
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.proving.proof_record import NAME, KafkaPass, ProofRecord, read, write
from brokertrial.suites.result import CaseResult
from brokertrial.suites.targets.address import Address


def prove(runs: Sequence[str]) -> int:
    """Writes down what these runs show of cases that are not ours; one sentence a case."""
    records: dict[Path, ProofRecord] = {}
    for run in map(Path, runs):
        run_folder.verify(run)
        header, results, _ = stored.read(run)
        for case, result, folder in _theirs(results):
            record = records.setdefault(folder, replace(read(folder / NAME)))
            if said := _enter(record, case, result, header.run, run):
                click.echo(f"{case.id}: {said}")
    for folder, record in records.items():
        write(folder / NAME, record)
        click.echo(f"Written: {folder / NAME}")
    return ExitStatus.PASSED if records else ExitStatus.NOTHING_JUDGED


def _theirs(results: Sequence[CaseResult]) -> Iterator[tuple[Case, CaseResult, Path]]:
    for result in results:
        case, source = by_id().get(result.case), source_of("cases", result.case)
        if case is not None and source is not None:
            yield case, result, source.folder


def _enter(record: ProofRecord, case: Case, result: CaseResult, run: RunStarted, folder: Path) -> str:
    """What was added, in words; empty where the run shows nothing: it is of no Kafka, or another text of the case."""
    address = Address.parse(run.target)
    bug = address.options.get("mutant", "") if address.scheme == "reference" else ""
    if bug and result.verdict is Verdict.FAIL:
        record.failed(case, bug)
        return f"failed by {bug}"
    if address.scheme != "kafka" or result.verdict is not Verdict.PASS:
        return ""
    if not result.history or not (folder / result.history).is_dir():
        raise UserError(f"{folder} kept no history of {case.id}.", "A proof needs a run with --keep all.")
    header = History.open(folder / result.history).header
    if header.settings.get("content") not in (None, case.content_hash):
        return f"has changed since {folder}; run it again"
    seen = KafkaPass(run.target_version, header.nodes or 1, run.started_at[:10], "", max(len(result.attempts), 1))
    record.passed(case, seen)
    return f"passed on {seen}"

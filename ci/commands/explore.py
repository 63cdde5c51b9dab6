"""`brokertrial explore`: random sequences of requests, put alike to a broker and to one that is known to be good."""

from __future__ import annotations

import random
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from brokertrial.ci import exploration_report
from brokertrial.ci.errors import UserError
from brokertrial.suggestion import nearest
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.explore import corpus, known_differences
from brokertrial.suites.explore.brokers import Brokers, can_restart
from brokertrial.suites.explore.explorer import Exploration, Explorer, ordered
from brokertrial.suites.explore.families import rules
from brokertrial.suites.explore.finding import ShrunkDifference
from brokertrial.suites.explore.oracles import default_oracle, is_kafka
from brokertrial.suites.explore.record import ExplorationRecord
from brokertrial.suites.running.interruption import Interruption
from brokertrial.suites.running.options import LARGEST_DRAWN_SEED
from brokertrial.suites.running.run_folder import new_run
from brokertrial.suites.targets import open_target

EXAMPLES, FINDINGS = "examples", "findings.json"


@dataclass(frozen=True, slots=True)
class WantedBrokers:
    """What the command line asks for."""

    target: str
    against: str | None
    minutes: float
    seed: int | None
    only: str
    known: str | None
    stop_after: int | None
    export: tuple[str, ...]
    jobs: int
    runs: str


def explore(wanted: WantedBrokers) -> int:
    """Explores, writes the run folder, prints what was found, and returns the exit status."""
    only = _families(wanted.only)
    known = known_differences.read(Path(wanted.known)) if wanted.known else []
    seed = random.randint(1, LARGEST_DRAWN_SEED) if wanted.seed is None else wanted.seed
    with tempfile.TemporaryDirectory(prefix="brokertrial-explore-") as scratch, Interruption() as interruption:
        oracle = wanted.against or default_oracle(open_target(wanted.target, Path(scratch) / "unstarted"))
        folder = new_run(Path(wanted.runs), wanted.target, seed)
        click.echo(f"explore {wanted.target} against {oracle}, seed {seed}, {wanted.minutes:g} minutes: {folder}")
        plan = Exploration(
            wanted.target, oracle, wanted.minutes, seed, only, wanted.jobs, corpus.kept(), wanted.stop_after
        )
        record, interrupted = _explored(plan, folder, Path(scratch), known)
        interrupted |= interruption.came
    return _reported(record, folder, interrupted, wanted.export)


def _explored(
    plan: Exploration, folder: Path, scratch: Path, known: list[known_differences.KnownDifference]
) -> tuple[ExplorationRecord, bool]:
    interrupted, began = False, datetime.now(UTC)
    with ExitStack() as ends:
        brokers = ends.enter_context(Brokers(plan.oracle, plan.target, scratch / "first", plan.only))
        alone = None
        if can_restart(brokers.oracle) and can_restart(brokers.target):
            alone = ends.enter_context(
                Brokers(plan.oracle, plan.target, scratch / "restarted", plan.only, restarts=True)
            )
        explorer = Explorer(plan, brokers, folder / EXAMPLES, lambda line: click.echo(f"  {line}"), alone)
        versions = brokers.oracle.version(), brokers.target.version()
        ranges = dict(brokers.pair.ranges)
        try:
            explorer.run()
        except KeyboardInterrupt:
            interrupted = True
    if not interrupted:
        try:
            explorer.check(
                lambda n: Brokers(plan.oracle, plan.target, scratch / f"check-{n}", plan.only, restarts=True)
            )
        except KeyboardInterrupt:
            interrupted = True
    findings = known_differences.marked(ordered(explorer.findings.values()), known)
    corpus.keep(explorer.guidance.kept)
    record = ExplorationRecord(
        plan.target, plan.oracle, is_kafka(plan.oracle), *versions, plan.seed, plan.minutes, began.isoformat(),
        tuple(sorted(plan.only)), explorer.progress.seconds, explorer.progress.sequences, explorer.progress.requests,
        explorer.progress.accepted, explorer.progress.lost, tuple(findings), ranges,
        tuple((*reached, count) for reached, count in sorted(explorer.guidance.reached.items())),
        known_differences.stale(findings, known), interrupted, tuple(problem.sentence for problem in explorer.lost),
    )  # fmt: skip
    return record, interrupted


def _reported(record: ExplorationRecord, folder: Path, interrupted: bool, export: tuple[str, ...]) -> int:
    (folder / FINDINGS).write_bytes(record.encoded())
    exploration_report.write(record, folder)
    for number, finding in enumerate(record.findings, 1):
        click.echo(f"{number}. {_line(record, finding)}")
        if "script" in export:
            path = folder / f"finding-{number}.py"
            path.write_text(finding.script, encoding="utf-8")
            click.echo(f"   {path}")
    for cause in record.stale:
        click.echo(f"known, and not met any more: {cause}")
    click.echo(f"{summary(record)}\nReport: {folder / exploration_report.PAGE}")
    return ExitStatus.INTERRUPTED if interrupted else status(record)


def status(record: ExplorationRecord) -> int:
    """1 where a difference from Apache Kafka, seen each time, breaks a guarantee and is not known; 5: nothing asked."""
    if any(fails(record, finding) for finding in record.findings):
        return ExitStatus.FAILED
    if not record.requests:
        return ExitStatus.NOTHING_JUDGED
    return ExitStatus.INCONCLUSIVE if record.given_up else ExitStatus.PASSED


def fails(record: ExplorationRecord, finding: ShrunkDifference) -> bool:
    """Whether a finding fails the run."""
    return record.is_kafka and finding.confirmed and finding.breaks_must and not finding.known


def summary(record: ExplorationRecord) -> str:
    """One line with every count."""
    failing = sum(fails(record, each) for each in record.findings)
    known = sum(bool(each.known) for each in record.findings)
    return (
        f"{record.sequences} sequences, {record.requests} requests to each, {len(record.reached)} states reached; "
        f"{len(record.findings)} differences: {failing} break a guarantee, {known} known, "
        f"{len(record.findings) - failing - known} to look at"
    )


def _line(record: ExplorationRecord, finding: ShrunkDifference) -> str:
    word = "BREAKS" if fails(record, finding) else "known" if finding.known else "differs"
    promise = f" [{finding.guarantee}: {finding.harm}]" if finding.guarantee else ""
    seen = f"{finding.reproduced} of {finding.checks}" if finding.checks else "not checked again"
    return f"{word}: {finding.cause}{promise} ({len(finding.story)} requests, {seen})"


def _families(text: str) -> frozenset[str]:
    names = frozenset(filter(None, (name.strip() for name in text.split(","))))
    there = sorted({rule.family for rule in rules()})
    for name in sorted(names):
        if name not in there:
            raise UserError(
                f"--only: there is no family `{name}`.", nearest(name, there) or f"Known: {', '.join(there)}."
            )
    return names

"""The last good run: a run folder, an archive, a folder of runs, or the one in which the gate keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci import run_archive
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import results as stored
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.suites.case import all_cases
from brokertrial.suites.events import RunStarted
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.proving.case_dependencies import text_hash
from brokertrial.suites.result import CaseResult


@dataclass(frozen=True)
class LastRun:
    """A run that was kept: its announcement and its results."""

    folder: Path
    run: RunStarted
    suite_version: str
    results: tuple[CaseResult, ...]
    status: int

    @classmethod
    def read(cls, folder: Path) -> LastRun:
        """Reads a folder with a results.jsonl, or an archive of one; raises UserError for what is damaged or empty."""
        header, results, footer = stored.read(
            run_archive.unpacked(folder) if run_archive.is_archive(folder) else folder
        )
        return cls(folder, header.run, header.suite_version, tuple(results), footer.status)

    def differs(self, target: str, profile: str) -> list[str]:
        """Why a comparison with it is not of like with like, one sentence each."""
        told = (
            ("target", self.run.target, target),
            ("profile", self.run.profile, profile),
            ("version of brokertrial", self.suite_version, suite_version()),
        )
        found = [f"the last good run was of another {what}: {was}, now {now}" for what, was, now in told if was != now]
        if self.status not in (ExitStatus.PASSED, ExitStatus.INCONCLUSIVE):  # which a policy may have tolerated
            found.append(f"the run to compare with ended with status {self.status}")
        return found

    def to_run_first(self) -> tuple[str, ...]:
        """The cases that failed or were inconclusive then, that are new, or that are written differently now."""
        unsure = {r.case for r in self.results if r.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)}
        texts = {info.case: info.text for info in self.run.cases} | {left.case: "" for left in self.run.left_out}
        cases = all_cases()
        new = {case.id for case in cases if case.id not in texts}
        changed = {case.id for case in cases if texts.get(case.id) and texts[case.id] != text_hash(case)}
        return tuple(case.id for case in cases if case.id in unsure | new | changed)


def find(folder: Path, target: str = "") -> LastRun | None:
    """The run that a folder holds: itself, else the newest green one of this target in it; None where there is none."""
    if run_archive.is_archive(folder) or (folder / stored.NAME).is_file():
        return LastRun.read(folder)
    if folder.is_file():
        raise UserError(f"{folder} is a file, and no archive of a run.")
    for inner in sorted(folder.glob("*/"), reverse=True):
        if not (inner / stored.NAME).is_file():
            continue
        try:
            found = LastRun.read(inner)
        except UserError:
            continue  # a run that was killed: not a good one
        if found.status == ExitStatus.PASSED and found.run.target == target:
            return found
    return None

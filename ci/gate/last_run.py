"""The last good run: a run folder, an archive, a folder of runs, or the one in which the gate keeps it.

A gate that passes leaves a record in its run folder (`last-good/`): the results that it decided by, with those of the
cases that were run again. In a folder of runs, only a run with such a record is a good one.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci import run_archive, run_folder
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import results as stored
from brokertrial.ci.reports.left_out import CHOSEN
from brokertrial.ci.reports.run_state import RunState, suite_version
from brokertrial.suites.case import all_cases
from brokertrial.suites.events import CaseFinished, RunEvent, RunStarted
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.proving.case_dependencies import text_hash
from brokertrial.suites.result import CaseResult

RECORD = "last-good"


@dataclass(frozen=True)
class LastRun:
    """A run that was kept: its announcement and its results."""

    folder: Path
    run: RunStarted
    suite_version: str
    results: tuple[CaseResult, ...]
    status: int
    passed: bool = True
    """Whether a gate is known to have passed it."""

    @classmethod
    def read(cls, folder: Path) -> LastRun:
        """Reads a folder with a results.jsonl, or an archive of one; raises UserError for what is damaged or empty."""
        place = run_archive.unpacked(folder) if run_archive.is_archive(folder) else folder
        recorded = place / RECORD / stored.NAME
        header, results, footer = stored.read(recorded.parent if recorded.is_file() else place)
        passed = recorded.is_file() or not (place / run_folder.NAME).is_file()  # what --save-last left is no run folder
        return cls(folder, header.run, header.suite_version, tuple(results), footer.status, passed)

    def had_all_of(self, run: RunStarted) -> bool:
        """Whether it left out none of the cases of a run, by profile, selection or budget; new ones it cannot have."""
        return not self.left_out(run)

    def left_out(self, run: RunStarted) -> tuple[str, ...]:
        """The cases of a run that it left out."""
        left = {each.case for each in self.run.left_out}
        return tuple(info.case for info in run.cases if info.case.partition("@")[0] in left)

    def differs(self, target: str, profile: str) -> list[str]:
        """Why a comparison with it is not of like with like, one sentence each."""
        told = (
            ("target", self.run.target, target),
            ("profile", self.run.profile, profile),
            ("version of brokertrial", self.suite_version, suite_version()),
        )
        found = [f"the last good run was of another {what}: {was}, now {now}" for what, was, now in told if was != now]
        if not self.passed:
            status = f"; it ended with status {self.status}" if self.status != ExitStatus.PASSED else ""
            found.append(f"the run to compare with is not known to have passed a gate{status}")
        return found

    def to_run_first(self) -> tuple[str, ...]:
        """The cases that failed or were inconclusive then, that are new, or that are written differently now."""
        unsure = {r.case for r in self.results if r.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)}
        texts = {info.case: info.text for info in self.run.cases} | {left.case: "" for left in self.run.left_out}
        cases = all_cases()
        new = {case.id for case in cases if case.id not in texts}
        changed = {case.id for case in cases if texts.get(case.id) and texts[case.id] != text_hash(case)}
        return tuple(case.id for case in cases if case.id in unsure | new | changed)


def named(place: Path) -> LastRun | None:
    """The run that a place itself holds; None for a folder of runs, and where nothing is yet."""
    if run_archive.is_archive(place) or (place / stored.NAME).is_file():
        return LastRun.read(place)
    if place.is_file():
        raise UserError(f"{place} is a file, and no archive of a run.")
    return None


def newest_good(folder: Path, target: str, now: RunStarted) -> LastRun | None:
    """The newest run in a folder that a gate has passed, of this target, and that left out no case of this one."""
    for recorded in sorted(folder.glob(f"*/{RECORD}/"), reverse=True):
        try:
            found = LastRun.read(recorded.parent)
        except UserError:
            continue  # it was cut, or changed after it was written
        if found.passed and found.run.target == target and found.had_all_of(now):
            return found
    return None


def keep(state: RunState, folder: Path) -> None:
    """The results of a run that the gate passed, as those of the last good one: results.jsonl, without histories."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / stored.NAME).unlink(missing_ok=True)
    assert state.run is not None and state.end is not None, "a green run has both"
    writer = stored.writer(dataclasses.replace(state, folder=folder))
    events: list[RunEvent] = [state.run, *map(CaseFinished, state.results), state.end]
    for event in events:
        writer.on(event)


def is_part_of_what_is_kept(run: RunStarted, folder: Path) -> bool:
    """Whether the run that is kept in a folder had cases that somebody chose to leave out of this one."""
    try:
        kept = named(folder)
    except UserError:
        return False
    chosen = {left.case for left in run.left_out if left.reason in CHOSEN}
    return kept is not None and kept.run.target == run.target and any(info.case in chosen for info in kept.run.cases)

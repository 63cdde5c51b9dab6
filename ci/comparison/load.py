"""Reads runs, folders and archives alike, into columns: verified first, times measured from their histories."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from brokertrial.ci import run_folder
from brokertrial.ci.comparison.column import Column
from brokertrial.ci.comparison.notes import TargetNotes, chosen
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import results as stored
from brokertrial.ci.reports.availability import TOGETHER, profiles
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.ci.run_location import RunLocation, find
from brokertrial.histories.availability import Profile
from brokertrial.histories.header import HistoryRefused, read_title
from brokertrial.histories.reader import History
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.rejudge import can_be_judged_again, judge_stored

OPTIONS = "options.json"
Tell = Callable[[str], None]


def column_of(
    number: int, text: str, notes: Sequence[TargetNotes], tell: Tell, *, recheck: bool = False
) -> tuple[Column, Path]:
    """One run as a column, and the folder where its histories are. Raises UserError for what is no closed run.

    With `recheck` the verdicts are those that this version of the suite comes to from the stored histories.
    """
    place = find(text)
    if place.run is None or place.case is not None:
        raise UserError(f"{text} is not a run.", "brokertrial compare RUN... takes run folders and archives of runs.")
    tell(f"{text}: verifying")
    run_folder.verify(place.run)
    header, results, footer = stored.read(place.run)
    if recheck:
        tell(f"{text}: judging {len(results)} histories again")
        results = [_judged_again(place.run, result) for result in results]
    tell(f"{text}: measuring times")
    histories = _loads(place.run, results, {info.case for info in header.run.cases if info.trial})
    found = {case: profile for case, profile in _measured(histories) if profile is not None}
    return (
        Column(
            key=f"t{number}",
            place=_shown(place),
            run=header.run,
            end=footer.end,
            suite_version=suite_version() if recheck else header.suite_version,
            host=header.host,
            results=tuple(results),
            profiles=found,
            notes=chosen(notes, header.run.target),
            situations=_situations(place.run),
            nodes=_nodes(place.run, results),
            sha256=footer.sha256,
        ),
        place.run,
    )


def _shown(place: RunLocation) -> str:
    """As the user named it, without what only this machine has: the page may be read elsewhere."""
    path = Path(place.name)
    return str(path) if not path.is_absolute() else path.name


def _judged_again(run: Path, before: CaseResult) -> CaseResult:
    """What `check` says of it; a result without a history stays as it was."""
    folder = run / before.history
    if (
        not can_be_judged_again(before)
        or not before.history
        or not folder.is_dir()
        or not folder.resolve().is_relative_to(run.resolve())
    ):
        return before
    try:
        return before.judged_again(judge_stored(folder))
    except HistoryRefused as refused:
        raise UserError(str(refused)) from None


def _nodes(run: Path, results: Sequence[CaseResult]) -> int | None:
    """How many brokers there were, as the first history says that states it."""
    for folder in (run / result.history for result in results if result.history):
        try:
            if folder.resolve().is_relative_to(run.resolve()) and (nodes := read_title(folder).header.nodes):
                return nodes
        except HistoryRefused:
            continue
    return None


def _loads(run: Path, results: Sequence[CaseResult], trials: set[str]) -> list[tuple[str, History]]:
    """The histories of the cases that drove a load."""
    found = []
    for result in results:
        if not result.history or not (result.schedule or result.case.partition("@")[0] in trials):
            continue
        folder = run / result.history
        if not folder.resolve().is_relative_to(run.resolve()):
            continue  # a result may come from anybody
        try:
            found.append((result.case, History.open(folder)))
        except (HistoryRefused, OSError):
            continue  # dropped by --keep failed, or incomplete: its case says so
    return found


def _measured(histories: Sequence[tuple[str, History]]) -> list[tuple[str, Profile | None]]:
    measured: list[tuple[str, Profile | None]] = []
    for begin in range(0, len(histories), TOGETHER):
        some = histories[begin : begin + TOGETHER]
        found = profiles([history for _, history in some])
        measured += [(case, profile) for (case, _), profile in zip(some, found, strict=True)]
    return measured


def _situations(run: Path) -> tuple[str, ...]:
    try:
        told = json.loads((run / OPTIONS).read_text(encoding="utf-8")).get("situations", ())
    except (OSError, ValueError, AttributeError):
        return ()
    return tuple(map(str, told)) if isinstance(told, list) else ()

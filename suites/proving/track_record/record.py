"""What the cases did on the releases of the list, and what is said of it: found.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case, by_id, own_cases
from brokertrial.suites.proving.notes import Note
from brokertrial.suites.proving.release_notes import ReleaseNotes
from brokertrial.suites.proving.track_record.bugs import ReleasedBug

FOUND = Path(__file__).with_name("found.toml")


class FoundBy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The failure of a case that shows a bug: `shows` are words of its sentence."""

    bug: str
    case: str
    shows: str
    new: bool = False
    """Whether the case, or that part of it, was written after the list."""


class Missed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bug that no case shows, and why."""

    bug: str
    why: str


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """The notes of every target, a file each."""

    folder: Path

    def shelf(self, target: str) -> ReleaseNotes:
        """The notes of one target."""
        name = re.sub(r"[^A-Za-z0-9.]+", "-", target)
        return ReleaseNotes(target, self.folder / f"{name}.jsonl")

    def note(self, target: str, case: str) -> Note | None:
        """The newest note on a case as it is now."""
        known = by_id().get(case)
        return self.shelf(target).verdicts([known]).get(case) if known else None

    def failed(self, target: str, cases: Iterable[Case]) -> list[Case]:
        """The cases that failed there."""
        known = list(cases)
        notes = self.shelf(target).verdicts(known)
        return [case for case in known if case.id in notes and notes[case.id].verdict == Verdict.FAIL]

    def decided(self, target: str, areas: Iterable[str]) -> list[Note]:
        """What came to a verdict there in some areas, of cases as they are now."""
        wanted = set(areas)
        known = [case for case in own_cases() if case.area in wanted]
        return [n for n in self.shelf(target).verdicts(known).values() if n.verdict in (Verdict.PASS, Verdict.FAIL)]


def findings(path: Path = FOUND) -> tuple[list[FoundBy], list[Missed]]:
    """What found.toml says. A ValueError names what is wrong with a row."""
    text = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return (
        msgspec.convert(text.get("found", []), list[FoundBy]),
        msgspec.convert(text.get("missed", []), list[Missed]),
    )


def problems(
    rows: Sequence[ReleasedBug], record: ReleaseRecord, found: Sequence[FoundBy], missed: Sequence[Missed]
) -> list[str]:
    """What found.toml says and the notes do not show; bugs that it says nothing of are none."""
    known = {row.id: row for row in rows}
    said = [each.bug for each in found] + [each.bug for each in missed]
    wrong = [f"{bug}: not in the list" for bug in said if bug not in known]
    both = {each.bug for each in found} & {each.bug for each in missed}
    wrong += [f"{bug}: found and missed" for bug in sorted(both)]
    for each in found:
        row = known.get(each.bug)
        if row is None:
            continue
        bad, good = record.note(row.has, each.case), record.note(row.mended, each.case) if row.mended else None
        if bad is None or bad.verdict != Verdict.FAIL or each.shows not in f"{bad.sentence} {' '.join(bad.anomalies)}":
            wrong.append(f"{each.bug}: {each.case} does not show it on {row.has}: {_said(bad)}")
        if row.mended and (good is None or (good.verdict == Verdict.FAIL and each.shows in good.sentence)):
            wrong.append(f"{each.bug}: {each.case} is not silent on {row.mended}: {_said(good)}")
    return wrong


def _said(note: Note | None) -> str:
    return f"{note.verdict}, {note.sentence}" if note else "not run as it is now"

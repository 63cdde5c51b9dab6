"""The verdicts that a proof record is made of, kept as they fall: a JSON line each, in a file that survives a kill."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from checkers.verdict import Verdict
from suites import proof
from suites.built_from import built_from
from suites.case import Case
from suites.proof_notes import Note

LIE = "an edited answer"
Key = tuple[str, str, bool]


class Store:
    """The newest verdict on each case as it is now, by target and by whether it was told lies."""

    def __init__(self, path: Path, cases: Sequence[Case]) -> None:
        self.path = path
        self._cases = {case.id: case for case in cases}
        self._notes: dict[Key, Note] = {}
        self._lines = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self.read()

    def __len__(self) -> int:
        """How many lines the file had when it was read last."""
        return self._lines

    def read(self) -> None:
        """Takes in what runs have written meanwhile. A line that a kill cut off, or that is of before, is passed by."""
        notes: dict[Key, Note] = {}
        lines = self.path.read_bytes().splitlines() if self.path.exists() else []
        for line in lines:
            try:
                note = msgspec.json.decode(line, type=Note)
            except msgspec.DecodeError:
                continue
            case = self._cases.get(note.case)
            if case and note.content == case.content_hash and note.built_from == built_from(case):
                notes[note.case, note.target, note.refuted] = note
        self._notes, self._lines = notes, len(lines)

    def forget(self) -> None:
        """Drops the verdicts on the cases at hand, and keeps those on others."""
        kept: list[bytes] = []
        for line in self.path.read_bytes().splitlines() if self.path.exists() else []:
            try:
                kept += [line] if msgspec.json.decode(line, type=Note).case not in self._cases else []
            except msgspec.DecodeError:
                continue
        self.path.write_bytes(b"".join(line + b"\n" for line in kept))
        self.read()

    def verdict(self, case: Case, target: str, *, lies: bool = False) -> Verdict | None:
        """What became of a case there; None when it was not tried, or has changed since."""
        note = self._notes.get((case.id, target, lies))
        return None if note is None else Verdict(note.verdict)

    def refuted(self, case: Case, targets: Collection[str]) -> bool:
        """Whether its lies have made it fail on one of these."""
        return any(self.verdict(case, target, lies=True) is Verdict.FAIL for target in targets)

    def of(self, case: Case) -> list[Note]:
        """Every verdict on a case."""
        return [note for (name, _, _), note in self._notes.items() if name == case.id]

    def enter(self, entries: dict[str, proof.Entry], case: Case, note: Note) -> None:
        """Adds to a record what a verdict shows, if it shows anything."""
        bug = LIE if note.refuted else note.target.partition("mutant=")[2]
        if bug and note.verdict == Verdict.FAIL:
            proof.note(entries, case, fails_with=bug)
        elif not bug and note.target.startswith("kafka:") and note.verdict == Verdict.PASS:
            nodes = ", three nodes" if "nodes=3" in note.target else ""
            proof.note(entries, case, passed_on=f"Apache Kafka {note.version}{nodes} ({note.day})")

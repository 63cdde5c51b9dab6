"""What a vendor has to say, from a TOML file: shown beside the verdicts, and never changing one.

[[target]]
match   = "kafka:4.4.0*"            # the target as it was started; * is a wildcard
name    = "Apache Kafka 4.4.0"
product = "Apache Kafka"            # versions of one product are compared with each other
by      = "The vendor's support team"
text    = "Started with its default settings."
link    = "https://example.org/known-limits"

[[target.case]]
case = "admin/bad-creations"
text = "A negative partition count is taken on purpose."
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from brokertrial.ci.errors import UserError

LONGEST = 2000
LINKS = ("https://", "http://")


class CaseNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of one case, or (`area/*`) of several."""

    case: str
    text: str


class TargetNotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of the targets that match."""

    match: str
    name: str = ""
    product: str = ""
    by: str = ""
    text: str = ""
    link: str = ""
    case: tuple[CaseNote, ...] = ()

    def of_case(self, case: str) -> str:
        """What is said of this case; empty where nothing is."""
        return " ".join(note.text for note in self.case if fnmatchcase(case, note.case))


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    target: tuple[TargetNotes, ...] = ()


def read(paths: Iterable[Path]) -> list[TargetNotes]:
    """The notes of these files; raises UserError with one sentence for what cannot be read or shown."""
    found: list[TargetNotes] = []
    for path in paths:
        try:
            notes = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).target
        except (OSError, ValueError) as problem:
            raise UserError(f"{path} cannot be read as notes: {problem}.", "docs/compare.md shows one.") from None
        for each in notes:
            _check(each, path)
        found += notes
    return found


def _check(notes: TargetNotes, path: Path) -> None:
    if notes.link and not notes.link.startswith(LINKS):
        raise UserError(f"{path}: {notes.link!r} is not a link that a page may show; it begins with https://.")
    texts = [notes.name, notes.product, notes.by, notes.text, *(note.text for note in notes.case)]
    if any(len(text) > LONGEST for text in texts):
        raise UserError(f"{path}: a text has more than {LONGEST} characters.")


def chosen(notes: Sequence[TargetNotes], target: str) -> TargetNotes:
    """The first that matches; one that says nothing where none does."""
    return next((each for each in notes if fnmatchcase(target, each.match)), TargetNotes(match=target))

"""What cases showed of Apache Kafka's releases: notes as they fall, and the known defects that explain failures."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.case import Case
from brokertrial.suites.proving.case_dependencies import text_hash
from brokertrial.suites.proving.notes import Note
from brokertrial.suites.since import number

FIRST_IN_KRAFT = (3, 3)
DEFECTS = Path(__file__).with_name("release_defects.toml")
JIRA, KIPS = "https://issues.apache.org/jira/browse/", "https://cwiki.apache.org/confluence/display/KAFKA/"


class Defect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A defect that some releases have, as its issue tells it; with `zookeeper` they have it in that mode alone."""

    case: str
    shows: str
    issue: str
    says: str
    since: str = msgspec.field(name="from")
    until: str = msgspec.field(name="to", default="")
    zookeeper: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(KAFKA|KIP)-\d+", self.issue):
            raise ValueError(f"{self.case}: issue is KAFKA-... or KIP-..., not {self.issue!r}")
        if not (number(self.since) and self.shows and self.says):
            raise ValueError(f"{self.case}: from, shows and says must be there")

    def explains(self, note: Note, release: str) -> bool:
        """Whether this is why that case failed there."""
        return self.is_about(note.case, release) and self.shows in f"{note.sentence} {' '.join(note.anomalies)}"

    def is_about(self, case: str, release: str) -> bool:
        """Whether that case is to fail on that release, in KRaft mode."""
        late = self.until and number(release) > number(self.until)
        return case == self.case and number(release) >= number(self.since) and not (late or self.zookeeper)

    @property
    def is_of_zookeeper(self) -> bool:
        """Whether it is seen where there is a ZooKeeper: before 3.3 there always was one."""
        return self.zookeeper or number(self.since) < FIRST_IN_KRAFT

    @property
    def link(self) -> str:
        """The issue as a link."""
        return linked(self.issue)


class ReleaseFinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A defect that takes more than a case on one node to see; `page` of docs/ tells it with its replay."""

    page: str
    issues: tuple[str, ...]
    guarantees: tuple[str, ...]
    replay: str
    says: str
    since: str = msgspec.field(name="from")
    until: str = msgspec.field(name="to", default="")

    def __post_init__(self) -> None:
        if not all(re.fullmatch(r"(KAFKA|KIP)-\d+", issue) for issue in self.issues):
            raise ValueError(f"{self.page}: issues are KAFKA-... or KIP-..., not {self.issues!r}")
        if not (number(self.since) and self.says):
            raise ValueError(f"{self.page}: from and says must be there")


def findings(path: Path = DEFECTS) -> list[ReleaseFinding]:
    """All that have a page of their own."""
    found = tomllib.loads(path.read_text(encoding="utf-8")).get("finding", [])
    return [msgspec.convert(each, ReleaseFinding) for each in found]


def linked(issue: str) -> str:
    """An issue as a link."""
    return f"[{issue}]({(JIRA if issue.startswith('KAFKA') else KIPS) + issue})"


def defects(path: Path = DEFECTS) -> list[Defect]:
    """All that are known. A ValueError names what is wrong with one."""
    found = tomllib.loads(path.read_text(encoding="utf-8")).get("defect", [])
    return [msgspec.convert(each, Defect) for each in found]


@dataclass(slots=True)
class ReleaseNotes:
    """The notes of one release: a file of JSON lines. A line that a kill cut off is passed by."""

    release: str
    path: Path

    def verdicts(self, cases: Iterable[Case]) -> dict[str, Note]:
        """The newest note on each case as it is now, and what is said of claims and requirements."""
        texts = {case.id: _text(case) for case in cases}
        return {
            note.case: note
            for note in self._notes()
            if note.text == texts.get(note.case, "" if is_said_of_the_target(note) else None)
        }

    def missing(self, cases: Sequence[Case]) -> list[Case]:
        """The cases that have not come to a verdict there as they are now."""
        known = self.verdicts(cases)
        return [case for case in cases if case.id not in known or known[case.id].verdict == Verdict.INCONCLUSIVE]

    def forget_what_is_said_again(self) -> None:
        """Claims and requirements are judged at the start of every run, and only those that are broken leave a note."""
        kept = [note for note in self._notes() if not is_said_of_the_target(note)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"".join(msgspec.json.encode(note) + b"\n" for note in kept))

    def _notes(self) -> list[Note]:
        notes: list[Note] = []
        for line in self.path.read_bytes().splitlines() if self.path.exists() else []:
            try:
                notes.append(msgspec.json.decode(line, type=Note))
            except msgspec.DecodeError:
                continue
        return notes


@cache
def _text(case: Case) -> str:
    return text_hash(case)  # a whole file is parsed for it, and every release asks


def is_said_of_the_target(note: Note) -> bool:
    """Whether it is of no case: `claims/...`, `requires/...`."""
    return note.case.partition("/")[0] in ("claims", "requires")

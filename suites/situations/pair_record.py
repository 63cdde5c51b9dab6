"""What is known of pairs of case and situation: the draws that passed on Apache Kafka, and why others are out.

suites/situations/pairs.json is generated (`make prove-pairs`), one line a pair. A pair accuses once three of its draws
have passed there, the failing one among them, in such a setting (one node, or several); else it warns. A draw that
Apache Kafka does not pass says nothing of anybody, nor does one that changes nothing: both are left out of runs. An
entry is about the text of the case as its proof takes it (without `detects`, comments and what its file holds beside
it), and about all that the situation does: its own file, and those of suites/situations that it comes to by imports.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from brokertrial.suites.case import Case
from brokertrial.suites.draw import Draw
from brokertrial.suites.proving.case_dependencies import reached, state_of, text_hash
from brokertrial.suites.situations import DRAWS

RECORD = Path(__file__).with_name("pairs.json")
FOLDER = "suites/situations"
SHARED = frozenset({f"{FOLDER}/__init__.py", f"{FOLDER}/acting.py"})
"""What every situation comes to, and what decides nothing of what it does."""
ENOUGH = DRAWS
Setting = Literal["one", "several"]


def setting(nodes: int) -> Setting:
    """Which passes speak of a target with so many nodes."""
    return "several" if nodes > 1 else "one"


class PairProof(msgspec.Struct, omit_defaults=True):
    """A case in a situation, by the numbers of the draws."""

    text: str
    """Of the case and of the situation."""
    one: list[int] = []
    """Passed on one node of Apache Kafka."""
    several: list[int] = []
    """Passed on several."""
    out: dict[str, str] = {}
    """Draw (`one-2`) -> what came of it there instead."""

    def passed(self, where: Setting) -> list[int]:
        """The draws that passed in a setting."""
        return self.one if where == "one" else self.several

    def enter(self, where: Setting, number: int, came: str) -> None:
        """Keeps what a draw came to; an empty sentence is a pass."""
        if came:
            self.out[f"{where}-{number}"] = came
            return
        self.out.pop(f"{where}-{number}", None)
        self.passed(where)[:] = sorted({*self.passed(where), number})


class PairRecord:
    """The whole file; keys are `case@situation`."""

    def __init__(self, entries: dict[str, PairProof]) -> None:
        self.entries = entries

    @classmethod
    def read(cls, path: Path = RECORD) -> PairRecord:
        """From a file; empty when there is none."""
        return cls(msgspec.json.decode(path.read_bytes(), type=dict[str, PairProof]) if path.exists() else {})

    def write(self, path: Path = RECORD) -> None:
        """One line a pair, sorted."""
        lines = (f'"{key}": {msgspec.json.encode(entry).decode()}' for key, entry in sorted(self.entries.items()))
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")

    def entry(self, case: Case, situation: str) -> PairProof | None:
        """What is known of a case in a situation, as both are written now."""
        found = self.entries.get(f"{case.plain_id}@{situation}")
        return found if found is not None and found.text == text_of(case, situation) else None

    def begun(self, case: Case, situation: str) -> PairProof:
        """The entry, new where there is none."""
        if (found := self.entry(case, situation)) is None:
            found = self.entries[f"{case.plain_id}@{situation}"] = PairProof(text_of(case, situation))
        return found

    def draws(self, case: Case, situation: str) -> list[int]:
        """The draws that have passed anywhere and are out nowhere."""
        if (entry := self.entry(case, situation)) is None:
            return []
        out = {int(key.rpartition("-")[2]) for key in entry.out}
        return [number for number in sorted({*entry.one, *entry.several}) if number not in out]

    def why_not_accused(self, case: Case, draw: Draw, nodes: int) -> str:
        """Why a pair can only warn on a target with so many nodes; empty where it accuses."""
        where = setting(nodes)
        entry = self.entry(case, draw.situation)
        passed = entry.passed(where) if entry else []
        if draw.number in passed and len(passed) + _of_no_effect(entry, where) >= ENOUGH:
            return ""
        setting_words = "several nodes" if where == "several" else "one node"
        return f"{len(passed)} of {ENOUGH} draws of this pair have been proven on Apache Kafka with {setting_words}"


def _of_no_effect(entry: PairProof | None, where: Setting) -> int:
    return sum(key.startswith(where) and came == NO_EFFECT for key, came in entry.out.items()) if entry else 0


NO_EFFECT = "no effect"


@cache
def record() -> PairRecord:
    """The record that ships."""
    return PairRecord.read()


def text_of(case: Case, situation: str) -> str:
    """Changes with the text of the case, and with what the situation does."""
    return hashlib.sha256(f"{text_hash(case)}/{_text(situation)}".encode()).hexdigest()[:10]


@cache
def _text(situation: str) -> str:
    own = f"{FOLDER}/{situation.replace('-', '_')}.py"
    return repr(state_of(reached([own], FOLDER) - SHARED))

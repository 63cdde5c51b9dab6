"""Whatever runs when a case runs is among what it reaches by name: else its proof would outlive a change of that."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import pytest

from brokertrial.suites.case import Case, by_id
from brokertrial.suites.proving.case_dependencies import ROOT, reach_of
from tests.suites.in_process import InProcess, tried

CASES = ("offsets/ends", "groups/consumer-joins", "commits/round-trip", "transactions/markers-over-restarts")
SOURCES = Path(sys.modules["brokertrial"].__file__ or "").parent


@contextmanager
def watched() -> Iterator[set[CodeType]]:
    """The code that is called in this thread, but for that of the broker, which uses `wire` too."""
    ran: set[CodeType] = set()
    runs = InProcess._run

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            ran.add(frame.f_code)

    def unwatched(self: InProcess, *arguments: object) -> object:
        sys.setprofile(None)
        try:
            return runs(self, *arguments)  # type: ignore[arg-type]
        finally:
            sys.setprofile(called)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "_run", unwatched)
        sys.setprofile(called)
        try:
            yield ran
        finally:
            sys.setprofile(None)


def names_of(code: CodeType) -> tuple[str, str, str]:
    """File, class and name of the definition that some code is part of."""
    *owners, name = code.co_qualname.partition(".<locals>")[0].split(".")
    file = Path(code.co_filename)
    inside = next((place for place in (SOURCES, ROOT) if file.is_relative_to(place)), None)
    return file.relative_to(inside).as_posix() if inside else "", ".".join(owners), name


def missing(case: Case, ran: set[CodeType]) -> list[tuple[str, str, str]]:
    file = case.file.relative_to(ROOT).as_posix()
    reach = reach_of(file, case.function.__name__, case.kind)
    known = {(where, owner, name) for where, owner, name, _ in reach.reached}
    written = {(where, one.owner, one.name) for where, found in reach.files.items() for one in found}
    return sorted({names for names in map(names_of, ran) if names in written} - known)


@pytest.mark.parametrize("name", CASES)
def test_what_runs_is_reached(name: str, tmp_path: Path) -> None:
    case = by_id()[name]
    tried(case, tmp_path / "imported")
    with watched() as ran:
        tried(case, tmp_path)
    assert len(ran) > 200
    assert missing(case, ran) == []


def test_much_is_not_reached() -> None:
    case = by_id()["offsets/ends"]
    reach = reach_of(case.file.relative_to(ROOT).as_posix(), case.function.__name__, case.kind)
    nodes = "suites/probe/nodes.py"
    unreached = {(one.owner, one.name) for one in reach.files[nodes]}
    unreached -= {(owner, name) for file, owner, name, _ in reach.reached if file == nodes}
    assert {("Nodes", "crash"), ("Nodes", "damage_tail")} <= unreached

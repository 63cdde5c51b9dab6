"""A run folder is refused when any file of it was cut, is missing or came from another run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from brokertrial.ci.errors import UserError
from brokertrial.ci.reports import discover, results
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.run_folder import NAME, _checksum, read, seal, verify
from brokertrial.suites.events import RunEvent


@pytest.fixture
def closed(run_folder: Path, told: list[RunEvent]) -> Path:
    """A run folder as a run leaves it."""
    state = RunState(run_folder)
    writers = discover(state)
    for event in told:
        state.on(event)
        for writer in writers.values():
            writer.on(event)
    seal(run_folder, {"target": "reference", "seed": 42, "status": 1}, complete=True)
    return run_folder


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_whole_folder_is_accepted(closed: Path) -> None:
    assert verify(closed)["seed"] == 42
    assert {path.name for path in files(closed)} >= {
        "run.json",
        "results.jsonl",
        "junit.xml",
        "summary.md",
        "report.html",
    }
    header, stored, footer = results.read(closed)
    assert header.run.seed == 42
    assert (len(stored), footer.results) == (6, 6)


def test_every_file_that_is_cut_is_refused_by_name(closed: Path) -> None:
    for path in files(closed):
        whole = path.read_bytes()
        path.write_bytes(whole[:-100] if len(whole) > 100 else whole[:-1])
        with pytest.raises(UserError) as caught:
            verify(closed)
        assert path.name in caught.value.sentence
        path.write_bytes(whole)
    verify(closed)


def test_every_file_that_is_missing_is_refused_by_name(closed: Path) -> None:
    for path in files(closed):
        whole = path.read_bytes()
        path.unlink()
        with pytest.raises(UserError) as caught:
            verify(closed)
        assert path.name in caught.value.sentence
        path.write_bytes(whole)


def test_every_file_of_another_run_is_refused_by_name(closed: Path, tmp_path: Path) -> None:
    """The near miss: the other run has the same names, and files of the same size."""
    for path in files(closed):
        whole = path.read_bytes()
        other = bytes(byte ^ 1 for byte in whole[:1]) + whole[1:]
        path.write_bytes(other)
        with pytest.raises(UserError) as caught:
            verify(closed)
        assert path.name in caught.value.sentence
        path.write_bytes(whole)


def test_run_json_of_another_run_does_not_match_the_files(closed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(closed, other)
    (other / "summary.md").write_text("another run\n", encoding="utf-8")
    seal(other, {"target": "reference", "seed": 43, "status": 1}, complete=True)
    shutil.copy(other / NAME, closed / NAME)
    with pytest.raises(UserError, match=r"summary\.md"):
        verify(closed)


def test_a_run_that_was_killed_says_so(closed: Path) -> None:
    seal(closed, {"target": "reference"}, complete=False)
    with pytest.raises(UserError, match="never closed"):
        verify(closed)


def test_results_without_footer_or_with_a_line_changed_are_refused(closed: Path) -> None:
    path = closed / results.NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(UserError, match="no footer"):
        results.read(closed)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    with pytest.raises(UserError, match="footer counts"):
        results.read(closed)
    path.write_bytes(b"".join(lines).replace(b"duplicate", b"duplicatf"))
    with pytest.raises(UserError, match="checksum"):
        results.read(closed)
    path.write_bytes(b"".join(lines[1:]))
    with pytest.raises(UserError, match="no header"):
        results.read(closed)


def test_a_later_format_is_named(closed: Path) -> None:
    content = json.loads((closed / NAME).read_text())
    del content["checksum"]
    content["format"] = 9
    content["checksum"] = _checksum(content)
    (closed / NAME).write_text(json.dumps(content))
    with pytest.raises(UserError, match="format 9"):
        read(closed)

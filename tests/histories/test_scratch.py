"""Temporary folders: gone at the end; what a killed process left is found, and what is in use is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from brokertrial.histories import tempdirs
from brokertrial.histories.tempdirs import Scratch, holding, is_held, left_behind

AGED_S = 3_600
HOLDER = (
    "from brokertrial.histories.tempdirs import Scratch; held = Scratch('test'); print(held.name, flush=True); input()"
)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of temporary files for this test alone, also in the processes that it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(folder: Path) -> Path:
    """As if it had been made long ago."""
    then = folder.stat().st_mtime - AGED_S
    os.utime(folder, (then, then))
    return folder


def held_elsewhere() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert process.stdout is not None
    return process, aged(Path(process.stdout.readline().strip()))


def test_it_is_gone_at_the_end(temporary: Path) -> None:
    with Scratch("test") as name:
        (Path(name) / "something").touch()
        assert Path(name).parent == temporary
    assert not list(temporary.iterdir())


def test_what_a_killed_process_left_is_found_and_removed() -> None:
    process, folder = held_elsewhere()
    (folder / "something").touch()
    aged(folder)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert left_behind() == [folder]
    assert tempdirs.remove(folder)
    assert not folder.exists()
    assert not tempdirs.remove(folder)


def test_what_another_process_holds_stays() -> None:
    process, folder = held_elsewhere()
    assert left_behind() == []
    assert not tempdirs.remove(folder)
    process.communicate("")
    assert not folder.exists(), "it ended by itself"


def test_what_is_held_here_young_or_of_others_stays(temporary: Path) -> None:
    (temporary / f"brokertrial-young-x{tempdirs.SUFFIX}").mkdir()
    aged(Path(tempfile.mkdtemp(prefix="brokertrial-bench-")))
    aged(Path(tempfile.mkdtemp(prefix="theirs-", suffix=tempdirs.SUFFIX)))
    (temporary / f"brokertrial-link-x{tempdirs.SUFFIX}").symlink_to(temporary)
    with Scratch("test") as name:
        aged(Path(name))
        assert left_behind() == []


def test_one_at_a_time_holds_a_folder(temporary: Path) -> None:
    assert not is_held(temporary)
    with holding(temporary):
        assert is_held(temporary)
    assert not is_held(temporary)

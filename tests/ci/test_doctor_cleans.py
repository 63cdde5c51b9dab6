"""`doctor --clean`: what killed processes left in the folder of temporary files, and what a killed run left of data."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from brokertrial.ci import run_folder
from brokertrial.ci.cli import cli
from brokertrial.ci.commands.doctor import doctor
from brokertrial.ci.errors import UserError
from brokertrial.histories.tempdirs import SUFFIX, holding
from brokertrial.suites.targets import doctor as ward
from brokertrial.suites.targets import escaped
from brokertrial.suites.targets.doctor import Ability, AbilityState


@pytest.fixture(autouse=True)
def leftover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that a process left behind an hour ago."""
    temporary = tmp_path / "temporary"
    folder = temporary / f"brokertrial-spill-x{SUFFIX}"
    folder.mkdir(parents=True)
    os.utime(folder, (folder.stat().st_mtime - 3_600,) * 2)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(escaped, "_PROC", tmp_path / "no-processes")
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that was killed before it reached its target; its nodes had data."""
    folder = tmp_path / "run"
    (folder / "target" / "data" / "node-1").mkdir(parents=True)
    run_folder.seal(folder, {}, complete=False)
    return folder


def test_leftovers_are_of_this_user_and_have_an_age(leftover: Path) -> None:
    said = CliRunner().invoke(cli, ["doctor"]).output
    assert "1 temporary folder of killed processes of this user, 60 min old: doctor --clean" in said
    older = leftover.with_name(f"brokertrial-older{SUFFIX}")
    older.mkdir()
    os.utime(older, (older.stat().st_mtime - 5 * 3_600,) * 2)
    assert "2 temporary folders of killed processes of this user, 60 min to 5 h old" in (
        CliRunner().invoke(cli, ["doctor"]).output
    )


def test_leftovers_go_without_a_run(leftover: Path) -> None:
    said = CliRunner().invoke(cli, ["doctor", "--clean"])
    assert (said.exit_code, said.output) == (0, "Removed temporary folders of processes that were killed: 1.\n")
    assert not leftover.exists()


def test_a_process_of_a_node_that_a_killed_run_left_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(escaped, "orphans", lambda: [17])
    said = CliRunner().invoke(cli, ["doctor"]).output
    assert "1 process of nodes of runs that were killed: doctor --clean" in said
    monkeypatch.setattr(escaped, "end_orphans", lambda: [17])
    said = CliRunner().invoke(cli, ["doctor", "--clean"]).output
    assert "ended process 17, of a node that a killed run had started" in said


def test_of_a_run_its_data_go_too(run: Path) -> None:
    (run / "target" / "node-1.err").touch()
    with pytest.raises(UserError, match="never reached its target"):
        doctor(None, str(run))
    assert [path.name for path in (run / "target").iterdir()] == ["node-1.err"]


def test_a_run_that_is_under_way_is_left_alone(run: Path) -> None:
    with holding(run), pytest.raises(UserError, match="still under way"):
        doctor(None, str(run))
    assert (run / "target" / "data" / "node-1").is_dir()


@pytest.mark.parametrize(("state", "status"), [("silent", 0), ("not stated", 0), ("does not", 1)])
def test_only_what_does_not_work_fails(monkeypatch: pytest.MonkeyPatch, state: AbilityState, status: int) -> None:
    monkeypatch.setattr(ward, "examine", lambda target: [Ability("logs", state, "no line")])
    assert doctor("file:broker.toml", None) == status

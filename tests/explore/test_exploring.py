"""An exploration of a few seconds finds a planted bug, makes it small and writes a script that shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from brokertrial.ci.cli import cli
from brokertrial.suites.explore.record import ExplorationRecord
from brokertrial.suites.targets import open_target

pytestmark = pytest.mark.long


def explored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, *more: str
) -> tuple[str, ExplorationRecord, Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["explore", "--target", target, "--against", "reference", "--runs", str(tmp_path / "runs"), *more]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    (folder,) = (tmp_path / "runs").iterdir()
    return result.output, msgspec.json.decode((folder / "findings.json").read_bytes(), type=ExplorationRecord), folder


def test_a_planted_bug_is_found_made_small_and_shown_by_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M09: a batch that an idempotent producer sends again is appended again."""
    bug = "reference?mutant=M09"
    words = ("--minutes", "0.5", "--stop-after", "1", "--seed", "3", "--only", "produce,producers")
    output, record, folder = explored(tmp_path, monkeypatch, bug, *words, "--export", "script")

    finding = record.findings[0]
    assert finding.api == "Produce"
    assert finding.guarantee == "prod-001"
    assert len(finding.story) < finding.found_length
    assert finding.reproduced == finding.checks
    assert "to look at" in output
    for page in ("report.md", "report.html"):
        assert "base_offset" in (folder / page).read_text("utf-8")
    for target, status in ((bug, 1), ("reference", 0)):
        with open_target(target, tmp_path / target.partition("?")[2] / "serving") as broker:
            script = [sys.executable, "-I", str(folder / "finding-1.py"), broker.bootstrap]
            ran = subprocess.run(script, capture_output=True, text=True, timeout=60)
        assert ran.returncode == status, ran.stdout + ran.stderr


def test_the_healthy_broker_answers_as_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, record, _ = explored(tmp_path, monkeypatch, "reference", "--minutes", "0.05", "--seed", "2")
    assert record.findings == ()
    assert record.requests > 20


def test_a_family_that_is_not_there_is_a_usage_error() -> None:
    result = CliRunner().invoke(cli, ["explore", "--target", "reference", "--only", "transaction"])
    assert "transactions" in str(result.exception)

"""An exploration of a few seconds finds a planted bug and makes it small; the healthy broker has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from brokertrial.ci.cli import cli
from brokertrial.suites.explore.record import Record
from brokertrial.suites.targets import open_target

FIRST = ("--minutes", "1", "--stop-after", "1")


def explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, *more: str) -> tuple[str, Record, Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["explore", "--target", target, "--against", "reference", "--runs", str(tmp_path / "runs"), *more]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    (folder,) = (tmp_path / "runs").iterdir()
    return result.output, msgspec.json.decode((folder / "findings.json").read_bytes(), type=Record), folder


def test_a_planted_bug_is_found_and_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P53: any number of acks counts as one."""
    output, record, folder = explored(
        tmp_path, monkeypatch, "reference?mutant=P53", *FIRST, "--seed", "1", "--only", "produce"
    )
    finding = next(each for each in record.findings if "INVALID_REQUIRED_ACKS" in each.cause)
    assert [each.api for each in finding.story] == ["CreateTopics", "Produce"]
    assert finding.reproduced == finding.checks
    assert "break a guarantee" in output
    for page in ("report.md", "report.html"):
        assert "INVALID_REQUIRED_ACKS" in (folder / page).read_text("utf-8")


def test_the_healthy_broker_answers_as_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, record, _ = explored(tmp_path, monkeypatch, "reference", "--minutes", "0.05", "--seed", "2")
    assert record.findings == ()
    assert record.requests > 20


def test_a_family_that_is_not_there_is_a_usage_error() -> None:
    result = CliRunner().invoke(cli, ["explore", "--target", "reference", "--only", "transaction"])
    assert "transactions" in str(result.exception)


def test_an_exported_script_tells_the_planted_bug_from_the_healthy_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M09: a batch that an idempotent producer sends again is appended again."""
    bug = "reference?mutant=M09"
    only = (*FIRST, "--seed", "3", "--only", "produce,producers", "--export", "script")
    _, record, folder = explored(tmp_path, monkeypatch, bug, *only)
    assert record.findings
    for target, status in ((bug, 1), ("reference", 0)):
        with open_target(target, tmp_path / target.partition("?")[2] / "serving") as broker:
            words = [sys.executable, "-I", str(folder / "finding-1.py"), broker.bootstrap]
            ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert ran.returncode == status, ran.stdout + ran.stderr

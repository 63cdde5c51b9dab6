"""A vendor's own folders and settings in the working directory must never shadow ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from brokertrial.ci import child

SHADOWED = ("brokertrial", "ci", "suites", "tests", "wire", "checkers", "histories", "faults", "pytest", "click")


@pytest.fixture
def vendor(tmp_path: Path) -> Path:
    """A working directory in which everything is called as ours is, and says so when it is imported."""
    for name in SHADOWED:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('SHADOWED')\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text("raise SystemExit('SHADOWED')\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    return tmp_path


def run(vendor: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTEST_ADDOPTS": "--no-such-option", "PYTHONPATH": str(vendor)}
    return subprocess.run(command, cwd=vendor, env=environment, capture_output=True, text=True, timeout=120)


def test_the_command_line_ignores_the_working_directory(vendor: Path) -> None:
    command = Path(sys.executable).with_name("brokertrial")
    done = subprocess.run([command, "cases"], cwd=vendor, capture_output=True, text=True, timeout=120)
    assert (done.returncode, "SHADOWED" in done.stdout + done.stderr) == (0, False)


def test_the_child_ignores_the_working_directory_and_the_environment(
    vendor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(vendor))
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    text = "import brokertrial.ci, brokertrial.suites, pytest, click; print(brokertrial.__file__, click.__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", text],
        cwd=vendor,
        env=child.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert str(vendor) not in done.stdout


def test_the_shadow_bites_without_safe_path(vendor: Path) -> None:
    """The near miss: what the two tests above would see if the safe path were not there."""
    done = run(vendor, sys.executable, "-c", "import brokertrial")
    assert "SHADOWED" in done.stderr

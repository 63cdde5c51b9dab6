"""The release script: what it writes, and when it refuses."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "release" / "__main__.py"), run_name="script")
NotReleased = SCRIPT["NotReleased"]
PROJECT = '[project]\nname = "x"\nversion = "0.9.0"\n[tool]\nother = "1"\n'
CHANGELOG = "# Changelog\n\nNewest first; nothing has been released yet.\n\n## Unreleased\n\n### Added\n- A thing.\n"


def test_the_version_has_one_place() -> None:
    assert SCRIPT["with_version"](PROJECT, "0.10.0") == PROJECT.replace("0.9.0", "0.10.0")


@pytest.mark.parametrize("version", ["0.9.0", "0.8.9", "1.0", "v1.0.0", "1.0.0rc1", "01.0.0"])
def test_what_is_no_later_version_is_refused(version: str) -> None:
    with pytest.raises(NotReleased):
        SCRIPT["with_version"](PROJECT, version)


def test_what_was_unreleased_goes_under_the_version() -> None:
    text = SCRIPT["with_section"](CHANGELOG, "0.10.0", date(2026, 11, 25))
    assert "## Unreleased\n\n## 0.10.0 (2026-11-25)\n\n### Added\n- A thing.\n" in text
    assert "nothing has been released" not in text
    with pytest.raises(NotReleased, match="says nothing"):
        SCRIPT["with_section"](text, "0.11.0", date(2026, 11, 26))


def test_our_own_files_can_be_released() -> None:
    found = re.search(r'^version = "(\d+)\.', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found
    SCRIPT["with_version"]((ROOT / "pyproject.toml").read_text(), f"{int(found[1]) + 1}.0.0")
    try:
        SCRIPT["with_section"]((ROOT / "CHANGELOG.md").read_text(), "9.0.0", date(2026, 11, 25))
    except NotReleased as why:
        assert "says nothing below" in str(why)  # right behind a release


def test_a_checkout_with_changes_is_not_released(tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    shutil.copy(ROOT / "release" / "__main__.py", tmp_path / "release")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    done = subprocess.run(
        [sys.executable, "-P", str(tmp_path / "release" / "__main__.py"), "0.2.0"], capture_output=True
    )
    assert done.returncode == 1 and b"changes that are not committed" in done.stderr

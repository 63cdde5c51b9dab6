"""`brokertrial demo`: a green run, a red one, and the report of the red one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_demo_shows_a_green_and_a_red_run(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("brokertrial")), "demo", "--no-open"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The healthy broker passed, and the bug was found." in done.stdout
    report = done.stdout.split("with the evidence:")[1].split()[0]
    assert "ordering/pipelined-sends" in (tmp_path / report).read_text(encoding="utf-8")

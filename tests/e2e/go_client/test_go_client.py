"""franz-go, unmodified, against the bundled broker: classic and KIP-848 groups, transactions."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.reference_impl_coordinators.conftest import Process

MODULE = Path(__file__).parent
WITHIN_S = 240


def built(folder: Path) -> Path:
    """The program; a machine without Go, or on which the module cannot be had, skips."""
    if shutil.which("go") is None:
        pytest.skip("franz-go needs Go, and `go` is not on the PATH")
    program = folder / "goclient"
    done = subprocess.run(
        ["go", "build", "-o", str(program), "."],
        cwd=MODULE, capture_output=True, text=True, timeout=WITHIN_S, check=False,
    )  # fmt: skip
    if done.returncode and "go.sum" not in done.stderr and ("dial" in done.stderr or "proxy" in done.stderr):
        pytest.skip(f"franz-go could not be fetched: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return program


def test_franz_go_groups_and_transactions(process: Process, tmp_path: Path) -> None:
    program = built(tmp_path)
    process.start()
    done = subprocess.run(
        [str(program), process.bootstrap], capture_output=True, text=True, timeout=WITHIN_S, check=False
    )
    held = [line for line in done.stdout.splitlines() if line.startswith("held: ")]
    assert done.returncode == 0, f"{held}\n{done.stderr[-4000:]}"
    assert held == [
        "held: topics",
        "held: group protocol classic",
        "held: group protocol consumer",
        "held: exactly once",
    ]

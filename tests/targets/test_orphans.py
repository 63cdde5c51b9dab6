"""However the suite dies, what it started dies with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.targets.conftest import gone, tiny

WITHIN_S = 20


def wait_for(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    pulse = threading.Event()
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not happen within {WITHIN_S} s"
        pulse.wait(0.02)


@pytest.fixture
def parent(broker_file: Callable[..., str], tmp_path: Path) -> subprocess.Popen[str]:
    """A suite of its own with a started broker; the broker's pid and its own child's are in files."""
    script = 'echo $$ > broker.pid; sleep 600 & echo $! > grandchild.pid; exec "$@"'
    start = ["sh", "-c", script, "broker", *tiny()]
    text = broker_file(start=start, before=[["touch", "up"]], after=[["rm", "up"]])
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "brokertrial.suites.targets", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("127.0.0.1:"), process.stderr and process.stderr.read()
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_no_signal_leaves_a_broker_behind(
    number: signal.Signals, parent: subprocess.Popen[str], tmp_path: Path
) -> None:
    pids = [int((tmp_path / name).read_text()) for name in ("broker.pid", "grandchild.pid")]
    assert not any(gone(pid) for pid in pids)
    os.kill(parent.pid, number)
    parent.communicate(timeout=WITHIN_S)
    for pid in pids:
        wait_for(f"the end of process {pid}", lambda pid=pid: gone(pid))  # type: ignore[misc]
    if number != signal.SIGKILL:
        assert parent.returncode == 0
        assert not (tmp_path / "up").exists(), "`after` undid `before`"

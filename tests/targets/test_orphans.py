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

from brokertrial.suites.targets import escaped
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


def test_a_broker_in_a_session_of_its_own_is_known_by_its_mark(broker_file: Callable[..., str], tmp_path: Path) -> None:
    """The suite was killed, and the guardian ends process groups: `doctor --clean` ends the rest."""
    script = 'echo $$ > broker.pid; exec "$@"'
    start = ["setsid", "--fork", "--wait", "sh", "-c", script, "broker", *tiny()]
    suite = [sys.executable, "-P", "-m", "brokertrial.suites.targets", broker_file(start=start)]
    with subprocess.Popen(suite, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None and parent.stdout.readline().startswith("127.0.0.1:")
        broker = int((tmp_path / "broker.pid").read_text())
        assert broker not in escaped.orphans(), "its suite lives"
        parent.kill()
    assert not gone(broker) and broker in escaped.orphans()
    assert broker in escaped.end_orphans() and gone(broker)

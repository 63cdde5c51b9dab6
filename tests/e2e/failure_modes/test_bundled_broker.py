"""`brokertrial broker` as the command of a file: target: what is done to the command is done to the broker itself."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.failure_modes.runs import COMMAND, brokertrial, one_line, only_run

pytestmark = pytest.mark.long

CONTROLS = ("kill", "terminate", "restart", "pause", "stop")
DISTURBED = ("produce/crash-keeps-the-tail", "produce/frozen-leader")


def described(folder: Path, *words: str) -> str:
    start = [COMMAND, "broker", *words, "--port={port}", "--data={data}"]
    (folder / "broker.toml").write_text(f"nodes = 1\nstart = {json.dumps(start)}\n")
    return "file:broker.toml"


@pytest.mark.parametrize("words", [("node",), ("cluster", "--nodes=1")], ids=["node", "cluster"])
def test_a_kill_a_pause_and_a_stop_reach_it(words: tuple[str, ...], tmp_path: Path) -> None:
    done = brokertrial(tmp_path, "doctor", "--target", described(tmp_path, *words))
    found = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()}
    assert {ability: found[ability] for ability in CONTROLS} == dict.fromkeys(CONTROLS, "works"), done.stdout
    assert done.returncode == 0


@pytest.fixture
def hangup_is_obeyed() -> Iterator[None]:
    """Whoever runs the tests by nohup ignores SIGHUP, and what they start would inherit that, as it should."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangup_is_obeyed")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_command_stops_the_broker(number: signal.Signals, tmp_path: Path) -> None:
    command = [COMMAND, "broker", "node", "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["ready"]
        process.send_signal(number)
        assert process.wait(timeout=30) == 0


def test_cases_that_disturb_it_are_decided(tmp_path: Path) -> None:
    selected = [word for case in DISTURBED for word in ("--select", case)]
    done = brokertrial(tmp_path, "run", "--target", described(tmp_path, "node"), "--seed", "3", *selected)
    assert "2 passed, 0 failed, 0 inconclusive" in one_line(done)
    assert done.returncode == 0 and (only_run(tmp_path) / "report.html").is_file()

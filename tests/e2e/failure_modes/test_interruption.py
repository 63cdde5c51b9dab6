"""Ctrl-C when things already go wrong: a broker that says nothing any more, a node that stands still by our doing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial.wire.ports import free_ports
from tests.e2e.failure_modes.runs import COMMAND, begun, ended, only_run, until

SOON_S = 45.0
"""One answer that is waited for in vain takes nearly as long, and there are many to wait for."""
NODE = [sys.executable, "-P", "-m", "brokertrial.reference_impl", "node", "--node-id=1"]

# Starts a broker in a session of its own, hurts and heals it, and writes down what is asked: `elsewhere ACTION PORT`.
ELSEWHERE = f"""
import os, pathlib, signal, subprocess, sys
action, port = sys.argv[1:]
pid, asked = pathlib.Path("pid"), pathlib.Path("asked")
with asked.open("a") as lines:
    print(action, file=lines)
if action == "start":
    with open("broker.log", "wb") as log:
        command = {NODE!r} + ["--port=" + port, "--data=data"]
        child = subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)
    pid.write_text(str(child.pid))
else:
    number = dict(stop=signal.SIGKILL, pause=signal.SIGSTOP, resume=signal.SIGCONT)[action]
    os.kill(int(pid.read_text()), number)
"""


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A broker that is not the suite's."""
    (port,) = free_ports(1)
    with (tmp_path / "broker.log").open("wb") as log:
        broker = subprocess.Popen([*NODE, f"--port={port}", f"--data={tmp_path / 'data'}"], stdout=log, stderr=log)
    try:
        yield broker, port
    finally:
        broker.kill()
        broker.wait()


@pytest.mark.parametrize("case", ["groups/silent-member-is-expelled", "idempotence/lost-ack"])
def test_a_silent_broker_does_not_hold_up_the_end(
    theirs: tuple[subprocess.Popen[bytes], int], tmp_path: Path, case: str
) -> None:
    broker, port = theirs
    process = run(tmp_path, f"bootstrap:127.0.0.1:{port}", case)
    if case == "idempotence/lost-ack":
        begun(tmp_path, "window-begin")
    else:
        until("the case has begun", lambda: list(tmp_path.glob("runs/*/histories/*")))
    broker.send_signal(signal.SIGSTOP)
    assert seconds_to_the_end(process) < SOON_S
    assert json.loads((only_run(tmp_path) / "run.json").read_text(encoding="utf-8"))["complete"]


def test_a_node_that_stands_still_by_a_command_goes_on(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    command = {action: [sys.executable, "-c", ELSEWHERE, action, str(port)] for action in ("start", "stop")}
    acting = {action: [sys.executable, "-c", ELSEWHERE, action, "{port}"] for action in ("pause", "resume")}
    (tmp_path / "broker.toml").write_text(
        f"ports = [{port}]\nbefore = [{json.dumps(command['start'])}]\nafter = [{json.dumps(command['stop'])}]\n"
        "[actions]\n" + "".join(f"{action} = {json.dumps(words)}\n" for action, words in acting.items())
    )
    process = run(tmp_path, "file:broker.toml", "transactions/frozen-coordinator")
    begun(tmp_path, "window-begin")
    assert seconds_to_the_end(process) < SOON_S
    assert (tmp_path / "asked").read_text().split() == ["start", "pause", "resume", "stop"]
    until("the broker is gone", lambda: not alive(int((tmp_path / "pid").read_text())))


def run(folder: Path, target: str, case: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "run", "--target", target, "--select", case, "--seed", "7"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def seconds_to_the_end(process: subprocess.Popen[str]) -> float:
    """Interrupts the run, which must say so by its exit status."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert ended(process) == 2
    return time.monotonic() - began


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

"""Brokers that are not our children: hurt by commands, reached by another address than they advertise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from brokertrial.suites.targets import TargetNotReady, open_target, readiness
from brokertrial.suites.targets.processes import ProcessTarget
from brokertrial.wire.ports import free_ports
from tests.targets.conftest import TINY, MakeTarget, tiny

# Starts the tiny broker in a session of its own with its pid in a file, and signals it: `elsewhere ACTION PORT`.
ELSEWHERE = f"""
import os, pathlib, signal, subprocess, sys, time
action, port = sys.argv[1:]
pid = pathlib.Path("pid")
if action in ("kill", "restart", "stop"):
    os.kill(int(pid.read_text()), signal.SIGKILL)
if action in ("start", "restart"):
    command = [sys.executable, "-P", {str(TINY)!r}, port, "data", "--advertise", "broker.invalid:9092", "--id", "7"]
    child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid.write_text(str(child.pid))
if action in ("pause", "resume"):
    os.kill(int(pid.read_text()), signal.SIGSTOP if action == "pause" else signal.SIGCONT)
"""


def elsewhere(action: str, port: int) -> list[str]:
    return [sys.executable, "-c", ELSEWHERE, action, str(port)]


def keys(port: int, *actions: str) -> dict[str, object]:
    return {
        "start": None,
        "ports": [port],
        "before": [elsewhere("start", port)],
        "after": [elsewhere("stop", port)],
        "actions": {action: elsewhere(action, port) for action in actions},
        "reach": {"broker.invalid:9092": f"127.0.0.1:{port}"},
    }


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


def test_commands_kill_pause_and_restart_it(file_target: MakeTarget, port: int) -> None:
    target = file_target(**keys(port, "kill", "pause", "resume", "restart"))
    with target:
        assert target.capabilities >= {"kill", "pause", "restart"} and "terminate" not in target.capabilities
        assert list(target.nodes) == [7], "the id that Metadata gives, found through [reach]"
        node = target.nodes[7]
        assert node.pid is None and node.alive()
        node.pause()
        assert node.paused() and node.alive()
        with pytest.raises(readiness.NotYet):
            readiness.ask(node.address, timeout_s=0.5)
        node.resume()
        readiness.ask(node.address)
        node.kill()
        assert not node.alive() and not target.alive()


def test_recover_restarts_it(file_target: MakeTarget, port: int) -> None:
    with file_target(**keys(port, "kill", "restart")) as target:
        assert "pause" not in target.capabilities
        target.nodes[7].restart()
        assert target.alive()


def test_one_that_can_only_be_paused_goes_on(file_target: MakeTarget, port: int) -> None:
    with file_target(**keys(port, "pause", "resume")) as target:
        assert "pause" in target.capabilities and not {"kill", "restart"} & target.capabilities
        target.nodes[7].pause()
        assert not target.alive()
        target.recover()
        assert target.alive() and not target.restartable


def test_our_own_child_that_can_only_be_paused_is_started_again(file_target: MakeTarget) -> None:
    """Commands pause it, and none restarts it: it died in a case, and that is not the end of the run."""
    signals = {"pause": ["sh", "-c", "kill -STOP $(cat pid)"], "resume": ["sh", "-c", "kill -CONT $(cat pid)"]}
    start = ["sh", "-c", 'echo $$ > pid; exec "$@"', "sh", *tiny()]
    with file_target(start=start, actions=signals, health={"on_sick": "restart"}) as target:
        (node,) = target.nodes.values()
        node.pause()
        assert node.paused()
        target.recover()
        (child,) = target._nodes.values()  # type: ignore[attr-defined]
        child.kill()
        assert not target.alive()
        target.recover()
        assert target.alive() and target.restartable
        target.restart()
        assert target.alive()


def test_an_action_that_is_not_given_says_so(file_target: MakeTarget, port: int) -> None:
    with file_target(**keys(port, "kill")) as target:
        with pytest.raises(TargetNotReady, match=r"\[actions\] has no `pause`"):
            target.nodes[7].pause()
        with pytest.raises(TargetNotReady, match="cannot be asked to stop"):
            target.nodes[7].terminate()


def test_what_an_earlier_process_of_the_run_left_is_undone_first(
    tmp_path: Path, broker_file: Callable[..., str]
) -> None:
    """The process that ran `before` crashed with its client library: containers of the same name are in the way."""
    said = [["sh", "-c", f"echo {word} {{port}} >> said"] for word in ("before", "after")]
    text = broker_file(start=tiny(), before=[said[0]], after=[said[1]], ready={"within_s": 30})
    crashed = open_target(text, tmp_path / "run" / "target")
    crashed.start()
    port = crashed.bootstrap.rpartition(":")[2]
    ProcessTarget.stop(crashed)  # type: ignore[arg-type] # as the kernel would, without a word to `after`
    with open_target(text, tmp_path / "run" / "target~2") as second:
        other = second.bootstrap.rpartition(":")[2]
        lines = (tmp_path / "said").read_text().splitlines()
        assert lines == [f"before {port}", f"after {port}", f"before {other}"]
    with open_target(text, tmp_path / "run" / "target~3"):
        assert (tmp_path / "said").read_text().count("after") == 2, "what was undone is not undone again"

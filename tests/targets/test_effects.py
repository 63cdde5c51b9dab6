"""A kill, a stop or a pause that reaches no broker is said, and what such a broker leaves behind is ended or named."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from brokertrial.ci import run_folder
from brokertrial.faults.node_control import NodeControl
from brokertrial.suites.targets import Target, TargetNotReady, effects
from brokertrial.suites.targets.doctor import examine
from brokertrial.suites.targets.effects import ActWithoutEffect, answers, checked, still_listening
from brokertrial.wire.ports import free_ports
from tests.targets.conftest import MakeTarget, gone, tiny
from tests.targets.test_actions import elsewhere, keys

OWN_SESSION = tiny("--own-session")
UNMARKED = ["env", "-i", *OWN_SESSION]
"""In a session of its own, and its environment says nothing of where it comes from."""


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "ENDS_WITHIN_S", 1.0)
    monkeypatch.setattr(effects, "PAUSED_WITHIN_S", 1.0)


def the_node(target: Target) -> NodeControl:
    (node,) = checked(target.nodes).values()
    return node


def broker_of(target: Target) -> int:
    (pid,) = target.workdir.glob("data/*/pid")
    return int(pid.read_text())


@pytest.mark.parametrize(("act", "done"), [("kill", "killed"), ("terminate", "asked to stop"), ("pause", "paused")])
def test_a_broker_in_a_session_of_its_own_is_not_reached(act: str, done: str, file_target: MakeTarget) -> None:
    with file_target(start=OWN_SESSION) as target:
        node, first = the_node(target), broker_of(target)
        with pytest.raises(ActWithoutEffect) as said:
            getattr(node, act)()
        assert str(said.value) == (
            f"node 1 was {done}, and {target.bootstrap} still answers: "
            "start the broker in the foreground (no daemon, no `setsid`), or give `[actions]` that reach it"
        )
        target.recover()
        assert target.alive() and answers(node.address)
        assert gone(first) is (act != "pause"), "two brokers on one port would be one too many"
        last = broker_of(target)
    assert gone(last) and still_listening(target) == ()


@pytest.mark.parametrize(
    "start",
    [tiny(), tiny("--stubborn"), ["sh", "-c", '"$@" & wait', "sh", *tiny()], ["env", "-i", *tiny()]],
    ids=["foreground", "stubborn", "child", "no environment"],
)
def test_a_broker_in_the_foreground_is(start: list[str], file_target: MakeTarget) -> None:
    with file_target(start=start, stop={"within_s": 0.5}) as target:
        node = the_node(target)
        node.pause()
        assert node.paused()
        node.resume()
        began = time.monotonic()
        node.kill()
        assert time.monotonic() - began < 1.0, "a port that refuses is no wait"
        node.restart()
        node.terminate()
        node.terminate()
        node.restart()
        assert answers(node.address)


def test_a_paused_node_that_is_killed_is_silent(file_target: MakeTarget) -> None:
    with file_target() as target:
        node = the_node(target)
        node.pause()
        node.kill()
        assert not node.alive()


def test_commands_that_do_nothing_are_seen(file_target: MakeTarget) -> None:
    given = keys(free_ports(1)[0], "resume", "restart")
    given["actions"] = {**given["actions"], "kill": ["true"], "pause": ["true"]}  # type: ignore[dict-item]
    with file_target(**given) as target:
        for act in ("kill", "pause"):
            with pytest.raises(ActWithoutEffect, match=r"still answers: have the command of `\[actions\]` reach"):
                getattr(the_node(target), act)()


def test_what_a_supervisor_brings_back_at_once_was_killed(file_target: MakeTarget) -> None:
    port = free_ports(1)[0]
    given = keys(port, "pause", "resume", "restart")
    given["actions"] = {**given["actions"], "kill": elsewhere("restart", port)}  # type: ignore[dict-item]
    with file_target(**given) as target:
        node = the_node(target)
        node.kill()
        effects._comes(lambda: answers(node.address), 10)
        node.pause()
        node.resume()
        assert answers(node.address)


def test_one_that_answers_nobody_anyhow_is_not_waited_for(file_target: MakeTarget) -> None:
    with file_target() as target:
        node = the_node(target)
        node.kill()
        node.kill()
        node.terminate()
        assert not answers(node.address)


def test_doctor_says_it_of_every_control(broker_file: Callable[..., str]) -> None:
    found = {one.ability: one for one in examine(broker_file(start=OWN_SESSION, stop={"within_s": 10}))}
    for ability in ("kill", "terminate", "pause"):
        assert found[ability].state == "does not" and "still answers: start" in found[ability].detail
    assert found["restart"].state == found["stop"].state == "works", "what was started is ended, wherever it is"


def test_what_cannot_be_found_is_named_and_spoils_no_run(file_target: MakeTarget) -> None:
    target = file_target(start=UNMARKED)
    target.start()
    broker, folder = broker_of(target), target.workdir.parent / "sealed"
    try:
        node = the_node(target)
        with pytest.raises(ActWithoutEffect):
            node.kill()
        with pytest.raises(TargetNotReady, match="node 1 cannot be started again: a process out of reach serves"):
            node.restart()
        data = target.workdir / "data" / "node-1"
        target.stop()
        (said,) = still_listening(target)
        assert said.startswith(f"a process still listens on {target.bootstrap}, where this run had started a broker")
        target.workdir.rename(folder)
        run_folder.seal(folder, {}, complete=True)
        before = (folder / "node-1.out").read_text()
        data.mkdir(parents=True)
        (data / "panic").touch()
        assert answers(node.address) and "serving on" in before
        assert effects._comes(lambda: not (data / "panic").exists(), 5), "it has written its line"
        run_folder.verify(folder)
    finally:
        os.kill(broker, signal.SIGKILL)


def test_a_helper_of_a_node_lives_on_until_the_end(file_target: MakeTarget, tmp_path: Path) -> None:
    """A store that the first start of a node puts into a session of its own is no broker that a kill has missed."""
    store = 'test -f store || { setsid sleep 300 & echo $! > store; }; exec "$@"'
    with file_target(start=["sh", "-c", store, "sh", *tiny()]) as target:
        node = the_node(target)
        node.kill()
        node.restart()
        effects._comes(lambda: (tmp_path / "store").exists(), 5)
        helper = int((tmp_path / "store").read_text())
        assert not gone(helper)
    assert gone(helper)

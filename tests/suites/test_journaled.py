"""What a wire case does to nodes is in a journal first: whatever ends the suite, no broker stays frozen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokertrial.faults.journal import forget_run, pending
from brokertrial.faults.journaled_node import journaled


class Sleeper:
    """A victim that is a process which only waits."""

    node_id, address = 1, ("127.0.0.1", 1)

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    terminate = kill

    def restart(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
        os.waitid(os.P_PID, self.pid, os.WCONTINUED)

    def alive(self) -> bool:
        return self._process.poll() is None

    def paused(self) -> bool:
        return False


@pytest.fixture
def node() -> Iterator[Sleeper]:
    sleeper = Sleeper()
    yield sleeper
    sleeper.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journals" / "case.jsonl"


def test_each_act_is_noted_before_and_cleared_after(node: Sleeper, path: Path) -> None:
    with journaled({1: node}, path) as nodes:
        assert pending(path) == []
        nodes[1].pause()
        nodes[1].kill()
        assert [(entry.what, entry.node) for entry in pending(path)] == [("down", 1), ("paused", 1)]
        nodes[1].restart()
        assert pending(path) == []
    assert not path.exists()


def test_an_act_that_goes_wrong_has_been_noted(node: Sleeper, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OSError("refused")

    with journaled({1: node}, path) as nodes:
        monkeypatch.setattr(node, "kill", refused)
        with pytest.raises(OSError, match="refused"):
            nodes[1].kill()
        monkeypatch.undo()
        assert [entry.what for entry in pending(path)] == ["down"]
    assert path.exists(), "it may or may not be down: whoever heals the run must look"
    forget_run(path.parent.parent)
    assert not path.exists()


def test_ctrl_c_lets_a_frozen_node_go_on(node: Sleeper, path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as interrupted, journaled({1: node}, path) as nodes:
        nodes[1].pause()
        raise KeyboardInterrupt
    continued = os.waitid(os.P_PID, node.pid, os.WCONTINUED)
    assert continued is not None and continued.si_status == signal.SIGCONT
    (note,) = interrupted.value.__notes__
    assert "goes on" in note and not path.exists()

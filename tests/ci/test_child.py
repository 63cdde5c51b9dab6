"""The process in front of a run: interrupts reach the child once, its status comes back, nothing outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from brokertrial.ci import child, run_folder
from brokertrial.ci.commands.doctor import doctor
from brokertrial.ci.errors import UserError
from brokertrial.faults.journal import JOURNALS, FaultJournal
from brokertrial.faults.node_control import NodeCommand
from brokertrial.suites.running.options import RunOptions

# A child that says when it is ready, and when it was interrupted; `timeit` is a module that runs what it is given.
HEALS = [
    *("timeit", "-n", "1", "-r", "1", "import os, threading", "try:"),
    *("  print('ready', flush=True); threading.Event().wait(60)", "except KeyboardInterrupt:"),
    *("  print('healed', flush=True)", "  os._exit(2)"),
]
PARENT = """
import subprocess, sys
from brokertrial.ci.child import Forwarding
with Forwarding("stopping") as forwarding:
    child = subprocess.Popen([sys.executable, "-P", "-m", *sys.argv[1:]], start_new_session=True)
    status = forwarding.wait(child)
sys.exit(status if status >= 0 else 128 - status)
"""
BECOMING = "import sys; from brokertrial.ci.child import become; become(sys.argv[1], sys.argv[2:])"


def parent(*module: str, program: str = PARENT) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program, *module], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_lets_the_child_heal_and_returns_its_status(number: signal.Signals) -> None:
    process = parent(*HEALS)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (out, process.returncode) == ("healed\n", 2)
    assert "interrupted: stopping" in err


def test_an_interrupt_of_before_the_child_is_there_reaches_it() -> None:
    with child.Forwarding("stopping") as forwarding:
        os.kill(os.getpid(), signal.SIGHUP)
        sleeping = subprocess.Popen([sys.executable, "-P", "-c", "import time; time.sleep(60)"])
        assert forwarding.wait(sleeping) in (1, -signal.SIGINT)


def test_the_third_interrupt_kills_a_child_that_does_not_end() -> None:
    stubborn = [word.replace("  os._exit(2)", "  threading.Event().wait(60)") for word in HEALS]
    process = parent(*stubborn)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "healed\n"
    for _ in range(2):
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.stderr.readline()
    assert process.wait(timeout=30) == 128 + signal.SIGKILL
    process.stdout.close()
    process.stderr.close()


def test_the_status_of_a_module_is_ours() -> None:
    process = parent("timeit", "-n", "1", "-r", "1", "import os; os._exit(7)", program=BECOMING)
    process.communicate(timeout=30)
    assert process.returncode == 7


def test_the_command_is_the_process_of_its_module() -> None:
    print_it = ("timeit", "-n", "1", "-r", "1", "import os, sys; print(os.getpid(), sys.flags.safe_path)")
    process = parent(*print_it, program=BECOMING)
    out, _ = process.communicate(timeout=30)
    assert out.splitlines()[0] == f"{process.pid} True"


def test_the_surroundings_do_not_reach_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in child.FORGET:
        monkeypatch.setenv(name, "x")
    assert not set(child.environment()) & set(child.FORGET)
    assert child.environment()["PYTHONSAFEPATH"] == "1"


def test_the_options_of_a_run_lie_in_its_folder(tmp_path: Path) -> None:
    options = RunOptions("reference", select=("offsets/*",), claims={"groups": False}, run_dir=str(tmp_path / "run"))
    options.leave()
    assert RunOptions.left_in(tmp_path / "run") == options
    assert child.command(tmp_path, 7)[:3] == [sys.executable, "-P", "-m"]


def test_what_a_killed_run_froze_is_let_go_by_doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_folder.seal(tmp_path, {}, complete=False)
    (tmp_path / "frozen").touch()
    undo = NodeCommand(("rm", "frozen"), str(tmp_path))
    node = SimpleNamespace(node_id=3, pid=None, undo_command=lambda what: undo)
    with FaultJournal(tmp_path / JOURNALS / "area.case.jsonl") as journal:
        journal.will("f1", "paused", node)
    with pytest.raises(UserError, match="never reached its target"):
        doctor(None, str(tmp_path))
    assert "node 3 (window f1) was paused; `rm frozen` has undone it." in capsys.readouterr().out
    assert not (tmp_path / "frozen").exists()

"""Runs of the whole command as a person starts them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from brokertrial.histories.header import HistoryIncomplete
from brokertrial.histories.reader import History

COMMAND = str(Path(sys.executable).with_name("brokertrial"))
PATIENCE_S = 90.0


def brokertrial(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=240, env=env)


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """All that was said; the console breaks long lines, and where is not the question."""
    return " ".join((done.stdout + done.stderr).split())


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


def until(what: str, holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:g} s in vain until {what}"
        time.sleep(0.1)


def begun(folder: Path, kind: str) -> None:
    """Waits until the history of a case that is under way tells of an event."""
    histories = "runs/*/histories/*/history.json"
    until(f"a history tells of {kind}", lambda: any(kind in _kinds(path.parent) for path in folder.glob(histories)))


def _kinds(history: Path) -> set[str]:
    try:
        return {str(getattr(row, "kind", "")) for row in History.open(history, allow_incomplete=True).rows("events")}
    except (HistoryIncomplete, OSError, ValueError):
        return set()  # it is being written


def ended(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=PATIENCE_S)
    return process.returncode

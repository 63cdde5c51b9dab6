"""Processes that a node's command started and that have left its process group: found by a mark in their environment.

Linux tells the environment of a process (/proc); elsewhere nobody is found.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from brokertrial.faults.owners import is_orphan

MARK = "BROKERTRIAL_NODE"
"""The variable; its value is that of one node of one process of the suite."""
KILLED_WITHIN_S = 5.0
ORPHANS_STOP_WITHIN_S = 5.0
_PROC = Path("/proc")


def marked(mark: str) -> list[int]:
    """The processes that carry it, and run."""
    return [number for number, found in _marks() if found == mark]


def orphans() -> list[int]:
    """The processes of nodes that a process of the suite had started which was killed."""
    return [number for number, found in _marks() if is_orphan(found)]


def end_orphans() -> list[int]:
    """Ends them, and returns which they were."""
    found = [(number, mark) for number, mark in _marks() if is_orphan(mark)]
    for mark in {mark for _, mark in found}:
        end_marked(mark, signal.SIGTERM, ORPHANS_STOP_WITHIN_S)
    return [number for number, _ in found]


def _marks() -> Iterator[tuple[int, str]]:
    begins = f"{MARK}=".encode()
    for name in os.listdir(_PROC) if _PROC.is_dir() else ():
        if name.isdecimal() and int(name) != os.getpid():
            with suppress(OSError):  # gone meanwhile, or of another user
                for word in (_PROC / name / "environ").read_bytes().split(b"\0"):
                    if word.startswith(begins):
                        yield int(name), word.removeprefix(begins).decode("utf-8", "replace")


def end_marked(mark: str, stop_signal: signal.Signals, within_s: float) -> None:
    """Asks them to stop, as the node itself is asked; kills those that have not by then."""
    deadline, pulse = time.monotonic() + within_s, threading.Event()
    asked: set[int] = set()
    while left := marked(mark):
        late_s = time.monotonic() - deadline
        if late_s > KILLED_WITHIN_S:
            return
        for number in left if late_s >= 0 else set(left) - asked:
            for each in (signal.SIGKILL,) if late_s >= 0 else (stop_signal, signal.SIGCONT):
                with suppress(OSError):
                    os.kill(number, each)
        asked |= set(left)
        pulse.wait(0.02)

"""What was done to processes and is not undone yet, on disk, so that a crash of the suite leaves no frozen broker
behind."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Literal, Self

import msgspec

from brokertrial.faults.node_control import NodeCommand, NodeControl, UndoneByCommand

COMMAND_WITHIN_S = 60
JOURNALS = "journals"
"""The folder of a run that they are in."""


class JournalEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing done to one node. `started` tells its process from a later one with the same id; `undo` is the command
    that undoes it where there is no process of ours."""

    window: str
    what: Literal["paused", "down"]
    node: int
    pid: int | None = None
    started: str | None = None
    undo: NodeCommand | None = None


class _JournalLine(msgspec.Struct, omit_defaults=True):
    """Either something done, or the id of the window that is undone."""

    done: JournalEntry | None = None
    undone: str | None = None


class FaultJournal:
    """Appends to a file before a process is touched and after it is healed; each line is on disk when the call
    returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)

    def will(self, window: str, what: Literal["paused", "down"], node_control: NodeControl) -> None:
        """Notes what is about to be done."""
        started = start_of(node_control.pid) if node_control.pid is not None else None
        undo = node_control.undo_command(what) if isinstance(node_control, UndoneByCommand) else None
        self._write(
            _JournalLine(done=JournalEntry(window, what, node_control.node_id, node_control.pid, started, undo))
        )

    def undone(self, window: str) -> None:
        """Notes that nothing of this window is left."""
        self._write(_JournalLine(undone=window))

    def close(self) -> None:
        """Closes the file; it is removed when nothing is left to undo."""
        self._file.close()
        if self.path.exists() and not pending(self.path):
            self.path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: _JournalLine) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        os.fsync(self._file.fileno())


def pending(path: Path) -> list[JournalEntry]:
    """What a journal says is not undone, the newest first. A last line that a crash cut short is no entry."""
    entries: list[JournalEntry] = []
    for text in path.read_bytes().splitlines():
        try:
            line = msgspec.json.decode(text, type=_JournalLine)
        except msgspec.DecodeError:
            continue
        if line.done is not None:
            entries.append(line.done)
        entries = [entry for entry in entries if entry.window != line.undone]
    return entries[::-1]


def heal(path: Path) -> list[str]:
    """Undoes what a killed run left: lets paused processes go on, runs the commands that undo. Returns one sentence
    for each entry, and clears the journal.

    A process is only signalled when its id and its start time are those of the journal: never a foreign one.
    """
    if not path.exists():
        return []
    said = [_undo(entry) for entry in pending(path)]
    path.unlink()
    return said


def heal_run(run: Path) -> list[str]:
    """The same for every journal of a run folder."""
    return [sentence for path in sorted((run / JOURNALS).glob("*.jsonl")) for sentence in heal(path)]


def forget_run(run: Path) -> None:
    """Clears the journals of a run: every node was brought back by other means."""
    for path in (run / JOURNALS).glob("*.jsonl"):
        path.unlink()


def _undo(entry: JournalEntry) -> str:
    who = f"node {entry.node} (window {entry.window})"
    if entry.undo is not None:
        return f"{who} was {entry.what}; {_run(entry.undo)}."
    if entry.pid is None:
        return f"{who} was {entry.what} by a command of its target; undo it there."
    if entry.what == "down":
        return f"{who} was stopped; nothing to undo, its run is over."
    if entry.started is None or start_of(entry.pid) != entry.started:
        return f"{who} was paused; its process {entry.pid} is gone."
    try:
        os.kill(entry.pid, signal.SIGCONT)
    except (ProcessLookupError, PermissionError) as problem:
        return f"{who} was paused; process {entry.pid} cannot be resumed: {problem.strerror}."
    return f"{who} was paused; process {entry.pid} goes on."


def _run(command: NodeCommand) -> str:
    words = " ".join(command.words)
    try:
        done = subprocess.run(
            command.words,
            cwd=command.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_WITHIN_S,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"`{words}`, which undoes it, failed: {problem}"
    return f"`{words}` has undone it" if done.returncode == 0 else f"`{words}` ended with status {done.returncode}"


def start_of(pid: int) -> str | None:
    """When a process started, in the system's own words; None when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return None
        found = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return found.stdout.strip() or None
    except (ProcessLookupError, PermissionError):
        return None
    # The name in parentheses may hold anything; the start time is the 22nd field, the 20th after it.
    return text.rpartition(")")[2].split()[19]

"""Writes down what each case did, a JSON line a verdict as it falls: the raw material of the proof record.

    python -P -m brokertrial.suites.proving.notes FOLDER NOTES      # runs the options.json of a run folder

`noted_run` does that in a process of its own: a crash of the client library must not take its caller down.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from brokertrial.suites.case import by_id
from brokertrial.suites.events import CaseFinished, RunEvent, RunStarted
from brokertrial.suites.proving.case_dependencies import text_hash, under_hash
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run


class Note(msgspec.Struct, frozen=True):
    """One verdict on one case, as it was written then."""

    case: str
    text: str
    target: str
    version: str
    refuted: bool
    verdict: str
    reason: str
    sentence: str
    anomalies: tuple[str, ...]
    duration_s: float
    under: str = ""
    day: str = ""
    attempt: int = 1


class NoteWriter:
    """A listener that appends a line for each result."""

    def __init__(self, options: RunOptions, path: Path) -> None:
        self._options = options
        self._path = path
        self._version = ""

    def on(self, event: RunEvent) -> None:
        """Takes in one event of the run."""
        if isinstance(event, RunStarted):
            self._version = event.target_version
        if not isinstance(event, CaseFinished):
            return
        result, case = event.result, by_id().get(event.result.case)
        note = Note(
            result.case,
            text_hash(case) if case else "",
            self._options.target,
            self._version,
            self._options.refute,
            str(result.verdict),
            result.reason.kind if result.reason else "",
            result.reason.sentence if result.reason else "",
            tuple(sorted({anomaly.name for anomaly in result.anomalies})),
            round(result.duration_s, 2),
            under_hash(case) if case else "",
            datetime.now(UTC).date().isoformat(),
            max(len(result.attempts), 1),
        )
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(note) + b"\n")


def noted_run(options: RunOptions, notes: Path, limit_s: float) -> str:
    """Runs in a child process; returns the end of what it wrote. Raises subprocess.TimeoutExpired."""
    options = options.validated().in_folder()
    options.leave()
    command = [sys.executable, "-P", "-m", "brokertrial.suites.proving.notes", str(options.run_dir), str(notes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    return done.stdout[-2000:] + done.stderr[-2000:]


def main(folder: str, notes: str) -> int:
    """The child."""
    options = RunOptions.left_in(Path(folder))
    return run(options, NoteWriter(options, Path(notes)).on).status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

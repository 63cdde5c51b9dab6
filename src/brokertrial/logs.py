"""The log file of `--log-file`: one JSON object a line, from every process of ours, in one file.

    {"at": "2026-05-04T10:11:12.123456+00:00", "ns": 712345678901234, "level": "info", "process": "run", "pid": 4711,
     "logger": "brokertrial.faults", "message": "fault begins", "fault": "f1", "text": "at op 200: kill node 2"}

All of it goes through `logging`, to loggers below "brokertrial": whoever uses the package from Python configures them
as usual. A message is constant; what varies stands in `extra`. `ns` is CLOCK_MONOTONIC, as in a history. The path goes
to child processes in their environment; without it nothing is configured and nothing is written.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

PATH = "BROKERTRIAL_LOG_FILE"
STANDARD = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
"""What every record has; anything else came by `extra`."""


def to_file(path: Path) -> None:
    """From now on this process writes there, and those that it starts; raises OSError where that is not possible."""
    path = path.resolve()
    path.touch()
    os.environ[PATH] = str(path)
    begin("command")


def begin(process: str) -> None:
    """To be called once by the main function of a process, with what the process is."""
    if not (path := os.environ.get(PATH)):
        return
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, FileOfLines)]:
        root.removeHandler(handler)
        handler.close()
    try:
        root.addHandler(FileOfLines(path, process))
    except OSError as error:
        print(f"brokertrial: {path} cannot be written: {error.strerror}", file=sys.stderr)
        return
    logging.getLogger("brokertrial").setLevel(logging.DEBUG)
    logging.getLogger("brokertrial.logs").debug("process begins", extra={"arguments": sys.argv[1:]})


class FileOfLines(logging.Handler):
    """Appends whole lines, each in one system call, so that several processes can share the file."""

    def __init__(self, path: str, process: str) -> None:
        super().__init__()
        self._process = process
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def emit(self, record: logging.LogRecord) -> None:
        """A log that cannot be written disturbs no run."""
        try:
            os.write(self._file, self.line(record))
        except OSError:
            self.handleError(record)

    def line(self, record: logging.LogRecord) -> bytes:
        """The record as one line of JSON; what JSON does not know is written as text."""
        entry = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "ns": time.monotonic_ns(),
            "level": record.levelname.lower(),
            "process": self._process,
            "pid": os.getpid(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: value for name, value in vars(record).items() if name not in STANDARD and name not in entry}
        if record.exc_info:
            entry["traceback"] = logging.Formatter().formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"

    def close(self) -> None:
        os.close(self._file)
        super().close()

"""The process of a run: reads the options from its run folder, runs the cases, writes the reports.

    python -P -m brokertrial.ci.run_process FOLDER PIPE

`ci/child.py` starts it and holds the other end of the pipe: when that process dies, even by kill -9, this one heals its
faults and ends.
"""

from __future__ import annotations

import faulthandler
import io
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from brokertrial import logs
from brokertrial.suites.running.interruption import SIGNALS

LOG = logging.getLogger("brokertrial")


def main(arguments: Sequence[str]) -> int:
    """Runs to the end; the exit status is that of the command."""
    folder, pipe = Path(arguments[0]), int(arguments[1])
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # the run takes them when it can be closed (interruption.py)
    faulthandler.enable()
    threading.excepthook = _log_thread
    sys.unraisablehook = _log_unraisable
    logs.begin("run")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    threading.Thread(target=_end_with_parent, args=(pipe,), daemon=True, name="parent-watch").start()
    from brokertrial.ci import reporter  # a second of imports, in which a signal has to wait
    from brokertrial.suites.running.options import RunOptions

    return reporter.run(RunOptions.left_in(folder), console=True).status


def _log_thread(ended: threading.ExceptHookArgs) -> None:
    """A thread that fails is seen by what it leaves undone; its traceback is no line of the console."""
    found = ended.exc_value or ended.exc_type()
    LOG.error("a thread failed", exc_info=(ended.exc_type, found, ended.exc_traceback))


def _log_unraisable(found: sys.UnraisableHookArgs) -> None:
    LOG.error("an exception that could not be raised: %r", found.exc_value)


def _end_with_parent(pipe: int) -> None:
    select.select([pipe], [], [])
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

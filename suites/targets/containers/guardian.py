"""Removes the containers of a suite that dies without a word: run as a script, a small process beside the suite.

It waits for the end of its standard input, which only the suite can write to, then removes what carries its label.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys

from brokertrial.faults.owners import owner
from brokertrial.suites.targets.containers.engine import PROBLEMS, engine, remove

ENDS_WITHIN_S = 90.0


class Guardian:
    """Stands by from `Guardian()` until `dismiss`."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-m", __name__, owner()]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """Lets it go; what is left of ours it removes, and it has ended when this returns."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait(timeout=ENDS_WITHIN_S)


def main(whose: str) -> None:
    """Waits, removes, ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    with contextlib.suppress(*PROBLEMS):
        remove(engine(), lambda name: name == whose)


if __name__ == "__main__":
    main(sys.argv[1])

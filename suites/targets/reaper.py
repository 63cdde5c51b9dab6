"""Ends the brokers when the suite dies without a word: run as a script, a small process beside the suite.

PR_SET_PDEATHSIG alone would not do: it reaches the direct child only (not the JVM that a start script runs), fires when
the *thread* that started the child ends, and is not there on macOS. The guardian reads `+group` and `-group` from its
standard input; when that ends, or its parent is another process, it kills every process group that is left.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading

_lock = threading.Lock()
_guardian: subprocess.Popen[bytes] | None = None
_owner = 0


def watch(group: int) -> None:
    """From now on this process group ends with the suite, however the suite ends."""
    _tell(f"+{group}\n")


def forget(group: int) -> None:
    """This process group has ended; its number may belong to somebody else soon."""
    if _watches():
        _tell(f"-{group}\n")


def stand_ready() -> None:
    """Starts the guardian, so that what is registered with atexit from now on still runs before it is dismissed."""
    global _guardian, _owner
    with _lock:
        if not _watches():
            _guardian, _owner = _start(), os.getpid()


def _watches() -> bool:
    return _guardian is not None and _owner == os.getpid() and _guardian.poll() is None


def _tell(line: str) -> None:
    stand_ready()
    with _lock:
        assert _guardian is not None and _guardian.stdin is not None
        _guardian.stdin.write(line.encode())
        _guardian.stdin.flush()


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", __file__, str(os.getpid())]
    guardian = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    atexit.register(_dismiss, guardian)
    return guardian


def _dismiss(guardian: subprocess.Popen[bytes]) -> None:
    if _owner == os.getpid() and guardian.stdin is not None:
        with contextlib.suppress(OSError):
            guardian.stdin.close()
        guardian.wait(timeout=10)


def main(parent: int) -> None:
    """Keeps the list of process groups until the parent is gone, then kills what is on it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    unread = b""
    while True:
        living = os.getppid() == parent
        # The time limit notices a parent that died while a forked child still held the other end of the pipe; what the
        # parent wrote before it died, perhaps before this process had begun to look, is still read.
        if select.select([0], [], [], 0.5 if living else 0)[0]:
            if not (chunk := os.read(0, 4096)):
                break
            *lines, unread = (unread + chunk).split(b"\n")
            for line in lines:
                group = int(line[1:])
                groups.add(group) if line.startswith(b"+") else groups.discard(group)
        elif not living:
            break
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]))

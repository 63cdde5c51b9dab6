"""Starts the process of a run (ci/run_process.py) in safe-path mode, and stays in front of it.

A crash of the client library ends that process and not the run: another goes on behind the case of the crash. Safe
path: neither the working directory nor the folder of a script is on the module path, so that nothing that lies there
is imported.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn, Self

from brokertrial.ci import crash
from brokertrial.ci.errors import UserError
from brokertrial.faults.journal import heal_run
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.running.earlier import Earlier

FORGET = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
PATIENCE = 3  # the signals after which the child is killed


def environment() -> dict[str, str]:
    """Ours without what would let the surroundings decide what is imported."""
    kept = {name: value for name, value in os.environ.items() if name not in FORGET}
    return kept | {"PYTHONSAFEPATH": "1"}


def command(run_dir: Path, pipe: int) -> list[str]:
    """The command line of the process of a run."""
    return [sys.executable, "-P", "-m", "brokertrial.ci.run_process", str(run_dir), str(pipe)]


def run(run_dir: Path) -> int:
    """Runs the child to its end and returns its status. Ctrl-C and SIGTERM reach it as one interrupt.

    A child that a crash of the client library ended is followed by another, which goes on behind the case of the crash.
    """
    earlier: Earlier | None = None
    with Forwarding("healing and closing the run") as forwarding:
        while (status := _once(forwarding, run_dir, earlier)) < 0:
            ended = signal.Signals(-status)
            for sentence in heal_run(run_dir):
                print(sentence, file=sys.stderr)
            following = None
            if ended in crash.SIGNALS and not (earlier and earlier.ended):
                following = crash.after(run_dir, ended, earlier, forwarding.came)
            if following is None:
                raise UserError(
                    f"The run was ended by {ended.name}.",
                    f"What it had written is in {run_dir}",
                    ExitStatus.INTERRUPTED if ended in (signal.SIGINT, signal.SIGTERM) else ExitStatus.INTERNAL,
                )
            print(f"brokertrial: the client library crashed ({ended.name}): {_next(following)}", file=sys.stderr)
            earlier = following
    return status


def _next(following: Earlier) -> str:
    return "the report is written" if following.ended else "the run goes on with the next case"


def _once(forwarding: Forwarding, run_dir: Path, earlier: Earlier | None) -> int:
    """One child from start to end; below 0 the signal that ended it."""
    inherited, held = os.pipe()
    if earlier:
        earlier.leave(run_dir)
    child = subprocess.Popen(
        command(run_dir, inherited), env=environment(), start_new_session=True, pass_fds=[inherited]
    )
    os.close(inherited)
    try:
        return forwarding.wait(child, told=earlier is not None and earlier.interrupted)
    finally:
        os.close(held)
        if child.poll() is None:
            child.kill()
            child.wait()


class Forwarding:
    """While it is entered, an interrupt of this process is one of the child; it has a session of its own.

    Entered before the child is started: one that comes in between waits for it, and leaves no child behind.
    """

    def __init__(self, doing: str) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._doing = doing
        self._count = 0
        self._passed_on = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._on)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @property
    def came(self) -> bool:
        """Whether there was an interrupt."""
        return self._count > 0

    def wait(self, child: subprocess.Popen[bytes], told: bool = False) -> int:
        """The status of the child, which is told of the interrupts that came before it was there, unless it knows."""
        self._passed_on = told
        self._child = child
        self._pass_on()
        return child.wait()

    def _on(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        self._pass_on()
        message = self._doing if self._count < PATIENCE else "killed before it was done"
        os.write(2, f"\nbrokertrial: interrupted: {message}\n".encode())
        if self._child is not None and self._count >= PATIENCE:
            self._child.kill()

    def _pass_on(self) -> None:
        if self._count and self._child is not None and not self._passed_on:
            self._passed_on = True
            self._child.send_signal(signal.SIGINT)


def become(module: str, arguments: Sequence[str]) -> NoReturn:
    """Makes this process a module of ours, in safe-path mode: whoever kills, pauses or stops it reaches the module."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, "-P", "-m", module, *arguments], environment())

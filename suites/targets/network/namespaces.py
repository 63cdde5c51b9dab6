"""Network namespaces without root: each is held by a process that ends with this one, and goes with it.

An ordinary user makes them in a user namespace, where that is allowed; root needs none. Nothing of it is on the disk:
a suite that is killed leaves no namespace, no device, no rule behind.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Sequence

from brokertrial.faults.packets import NetworkFailed
from brokertrial.suites.targets import reaper

RUN_WITHIN_S = 20.0
HELD_WITHIN_S = 20.0
_HOLD = ("sh", "-c", "echo held; exec cat")
"""Says that it is there, and ends when its input does."""


class Namespace:
    """One network namespace, kept alive by a process that does nothing else."""

    def __init__(self, command: Sequence[str], *, of_a_user: bool) -> None:
        self._of_a_user = of_a_user
        self._holder = _started(command)
        reaper.watch(self._holder.pid)
        try:
            _await(self._holder, command)
        except BaseException:
            self.close()
            raise

    @classmethod
    def outer(cls) -> Namespace:
        """A namespace beside that of this machine; NetworkFailed says why there can be none."""
        why = []
        if os.geteuid() == 0:
            try:
                return cls(("unshare", "--net", *_HOLD), of_a_user=False)
            except NetworkFailed as problem:
                why.append(str(problem))
        try:
            return cls(("unshare", "--user", "--map-root-user", "--net", *_HOLD), of_a_user=True)
        except NetworkFailed as problem:
            raise NetworkFailed("; ".join([*why, str(problem)])) from None

    def inner(self) -> Namespace:
        """Another one that devices of this one can be moved to."""
        return Namespace(self.enter("unshare", "--net", *_HOLD), of_a_user=self._of_a_user)

    @property
    def pid(self) -> int:
        """The process that holds it."""
        return self._holder.pid

    def enter(self, *command: str) -> list[str]:
        """The command that runs this one inside; the process is the same, its id too."""
        user = ("--user", "--preserve-credentials") if self._of_a_user else ()
        return ["nsenter", "--target", str(self.pid), *user, "--net", "--", *command]

    def run(self, *command: str, text: str = "") -> str:
        """Runs a program inside and returns what it printed; NetworkFailed with its own words where it fails."""
        return run(self.enter(*command), text, " ".join(command))

    def close(self) -> None:
        """Lets it go; may be called twice."""
        if self._holder.stdin is not None and not self._holder.stdin.closed:
            self._holder.stdin.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._holder.pid, signal.SIGKILL)
        self._holder.wait(timeout=10)
        if self._holder.stdout is not None:
            self._holder.stdout.close()
        reaper.forget(self._holder.pid)


def run(command: Sequence[str], text: str = "", said_as: str = "") -> str:
    """What a program printed; NetworkFailed where it is not there, fails, or takes too long."""
    said_as = said_as or " ".join(command)
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=RUN_WITHIN_S)
    except FileNotFoundError:
        raise NetworkFailed(f"`{command[0]}` is not on the PATH") from None
    except subprocess.TimeoutExpired:
        raise NetworkFailed(f"`{said_as}` did not end within {RUN_WITHIN_S:g} s") from None
    if done.returncode:
        raise NetworkFailed(f"`{said_as}` failed: {_first(done.stderr) or f'status {done.returncode}'}")
    return done.stdout


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    for program in (command[0], "unshare"):
        if shutil.which(program) is None:
            raise NetworkFailed(f"`{program}` (util-linux) is not on the PATH")
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def _await(holder: subprocess.Popen[bytes], command: Sequence[str]) -> None:
    assert holder.stdout is not None and holder.stderr is not None
    readable, _, _ = select.select([holder.stdout], [], [], HELD_WITHIN_S)
    if not readable or not holder.stdout.readline():
        holder.kill()
        with holder.stderr:
            said = _first(holder.stderr.read().decode(errors="replace"))
        raise NetworkFailed(f"`{' '.join(command[: -len(_HOLD)])}` failed: {said or 'nothing was said'}")
    holder.stderr.close()


def _first(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""

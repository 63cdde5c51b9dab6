"""One process of the helper: requests from a file, lines with verdicts back, ended on every way out."""

import os
import resource
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

BAD_INPUT = 65
GRACE_S = 10.0
"""How long an answer may be overdue before its process is killed: reading the history, and a busy machine."""

SLACK_MB = 256
"""What the system lets the process have beyond its own limit, for the runtime and for what the guard notices late."""

ARENA_MB = 64
"""The steps in which Go's heap grows: it can be refused a step when so much of what it has is still untouched."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one history may take."""

    timeout_s: float = 30.0
    memory_mb: int = 1024


class PorcupineRefused(ValueError):
    """The helper could not read a history: the fault is the sender's."""


class Process:
    """A running helper. Made by `started`, which ends it."""

    def __init__(
        self, process: subprocess.Popen[bytes], stream: IO[bytes], errors: IO[bytes], patience: float, most_mb: int
    ) -> None:
        self._process, self._stream, self._errors, self._patience = process, stream, errors, patience
        self._most_mb, self._overdue = most_mb, False

    @classmethod
    @contextmanager
    def started(cls, program: Path, requests: Sequence[bytes], limits: Limits) -> Iterator[Self]:
        """A helper that works through the requests, one processor and `limits` for each of them."""
        patience = 2 * limits.timeout_s + GRACE_S + max(map(len, requests)) / 1e6
        most_mb = limits.memory_mb + SLACK_MB
        with tempfile.TemporaryFile() as questions, tempfile.TemporaryFile() as errors:
            questions.writelines(requests)
            questions.seek(0)
            process = subprocess.Popen(
                [str(program), "-max-mb", str(limits.memory_mb)], stdin=questions, stdout=subprocess.PIPE,
                stderr=errors, env=os.environ | {"GOMAXPROCS": "1"}, start_new_session=True,
            )  # fmt: skip
            assert process.stdout is not None
            try:
                _confine(process.pid, most_mb)
                yield cls(process, process.stdout, errors, patience, most_mb)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                process.stdout.close()

    def lines(self) -> Iterator[bytes]:
        """Each line as it comes, until one is overdue or the process has ended."""
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream, selectors.EVENT_READ)
            deadline = time.monotonic() + self._patience
            while selector.select(max(0.0, deadline - time.monotonic())):
                read = os.read(self._stream.fileno(), 1 << 16)
                if not read:
                    return
                *whole, rest = (rest + read).split(b"\n")
                if whole:
                    deadline = time.monotonic() + self._patience
                    yield from whole
        self._overdue = True

    def cause(self) -> str:
        """Why the next line is missing. Raises PorcupineRefused when the helper could not read the request."""
        if self._overdue:
            return "timeout"
        status, peak_mb = _ended(self._process)
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()
        if status == BAD_INPUT:
            raise PorcupineRefused(f"Porcupine's helper refused a history: {said}.")
        # Where Go's runtime does not look for the refusal, the same want of memory shows as a fault of its own.
        refused = status != 0 and peak_mb + 2 * ARENA_MB > self._most_mb
        if "out of memory" in said or "allocate memory" in said or refused:
            return "memory"
        return f"crash: {said.partition(chr(10))[0] or f'exit status {status}'}"


def _ended(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """The exit status as Popen gives it, and the most memory in MiB that the process ever held."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss >> 10


def _confine(pid: int, most_mb: int) -> None:
    """A limit by the system on what the process may write to: what Go only reserves does not count."""
    with suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_DATA, (most_mb << 20, most_mb << 20))

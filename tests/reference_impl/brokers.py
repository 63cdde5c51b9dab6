"""Starts the bundled broker as a process, and stops it whatever happens."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

START_WITHIN_S = 90.0  # half a second when the machine has time


class BrokerProcess:
    """One broker; `restart` keeps its data and its port."""

    def __init__(self, data: Path, *arguments: str) -> None:
        self.data, self.arguments, self.port = data, arguments, 0
        self.log = data.parent / f"{data.name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Blocks until the broker says that it is ready."""
        command = [sys.executable, "-P", "-m", "brokertrial.reference_impl", "node", "--data", str(self.data)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--port", str(self.port), *self.arguments], stdout=subprocess.PIPE, stderr=log
            )
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], START_WITHIN_S)
        line = self._process.stdout.readline() if readable else b""
        if not line:
            self.kill()
            raise AssertionError(f"the broker was not ready within {START_WITHIN_S} s:\n{self.log.read_text()}")
        self.port = json.loads(line)["port"]

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(20)
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def __enter__(self) -> BrokerProcess:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


class Deadline:
    """A loop's patience: true until the time is up, then an error that names what was waited for."""

    def __init__(self, what: str, seconds: float = 30.0) -> None:
        self._what, self._until = what, time.monotonic() + seconds

    def __bool__(self) -> bool:
        if time.monotonic() > self._until:
            raise AssertionError(f"waited in vain for {self._what}")
        return True

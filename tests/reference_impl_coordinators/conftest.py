"""A reference broker as a process, on a free port, ended whatever happens."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

END_WITHIN_S = 20


class Process:
    """One broker process on one folder; it can be killed and started again."""

    def __init__(self, data: Path, *options: str) -> None:
        self._data, self._options = data, options
        self._child: subprocess.Popen[str] | None = None
        self.bootstrap = ""

    def start(self, *more: str) -> Process:
        command = [
            sys.executable,
            "-P",
            "-m",
            "brokertrial.reference_impl",
            "node",
            "--data",
            str(self._data),
            "--log-level",
            "WARNING",
        ]
        self._child = subprocess.Popen([*command, *self._options, *more], stdout=subprocess.PIPE, text=True)
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"the broker ended with status {self._child.wait(END_WITHIN_S)} before it was ready")
        self.bootstrap = f"127.0.0.1:{json.loads(line)['port']}"
        return self

    def kill(self) -> None:
        """kill -9."""
        if self._child is not None:
            self._child.kill()
            self._child.wait(END_WITHIN_S)
            if self._child.stdout is not None:
                self._child.stdout.close()
            self._child = None

    def terminate(self) -> None:
        if self._child is not None:
            self._child.terminate()
            self._child.wait(END_WITHIN_S)
        self.kill()


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    """A broker that is not started yet."""
    one = Process(tmp_path / "data")
    try:
        yield one
    finally:
        one.kill()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that a whole file of tests shares."""
    one = Process(tmp_path_factory.mktemp("broker") / "data")
    try:
        yield one.start().bootstrap
    finally:
        one.kill()

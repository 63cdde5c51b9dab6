"""Starts pytest in a child process, in safe-path mode, and stays in front of it.

Safe path: neither the working directory nor the folder of a script is on the module path, so a vendor's own `ci/` or
`tests/` folder can never shadow ours; nor can their pytest.ini, conftest.py, plugins or PYTEST_ADDOPTS change a run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from ci.trouble import INTERNAL, INTERRUPTED, Trouble
from faults.journal import heal_run

INI = Path(__file__).parent / "pytest.ini"
FORGET = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
PATIENCE = 3  # the signals after which the child is killed


def environment() -> dict[str, str]:
    """Ours without what would let the surroundings decide what is imported."""
    kept = {name: value for name, value in os.environ.items() if name not in FORGET}
    return kept | {"PYTHONSAFEPATH": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def command(run_dir: Path, options: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The pytest command line of a run."""
    return [
        *(sys.executable, "-P", "-m", "pytest", "-p", "suites.plugin", "-p", "ci.plugin"),
        *("-c", str(INI), "--rootdir", str(run_dir), "--run-dir", str(run_dir)),
        *options,
        *paths,
    ]


def run(run_dir: Path, options: Sequence[str], paths: Sequence[str]) -> int:
    """Runs the child to its end and returns its status. Ctrl-C and SIGTERM reach it as one interrupt."""
    inherited, held = os.pipe()
    arguments = command(run_dir, [*options, "--parent-pipe", str(inherited)], paths)
    child = subprocess.Popen(arguments, env=environment(), start_new_session=True, pass_fds=[inherited])
    os.close(inherited)
    try:
        with _forwarding(child, "healing and closing the run"):
            status = child.wait()
    finally:
        os.close(held)
        if child.poll() is None:
            child.kill()
            child.wait()
    if status < 0:
        for sentence in heal_run(run_dir):
            print(sentence, file=sys.stderr)
        ended = signal.Signals(-status)
        raise Trouble(
            f"The run was ended by {ended.name}.",
            f"What it had written is in {run_dir}",
            INTERRUPTED if ended in (signal.SIGINT, signal.SIGTERM) else INTERNAL,
        )
    return status


class _forwarding:
    """While it is entered, an interrupt of this process is one of the child; it has a session of its own."""

    def __init__(self, child: subprocess.Popen[bytes], doing: str) -> None:
        self._child = child
        self._doing = doing
        self._count = 0
        self._before: dict[int, object] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._on)

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _on(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count == 1:
            self._child.send_signal(signal.SIGINT)
        message = self._doing if self._count < PATIENCE else "killed before it was done"
        os.write(2, f"\nbrokertrial: interrupted: {message}\n".encode())
        if self._count >= PATIENCE:
            self._child.kill()


def run_module(module: str, arguments: Sequence[str]) -> int:
    """Runs a module of ours in the foreground, in safe-path mode; its status is ours."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments], env=environment(), start_new_session=True
    )
    with _forwarding(child, "stopping"):
        status = child.wait()
    return status if status >= 0 else 128 - status

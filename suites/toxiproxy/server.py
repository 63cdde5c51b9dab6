"""A Toxiproxy server of our own: started, watched, started anew when it is stuck, ended with us however we end."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType
from typing import Self

from brokertrial.faults.toxiproxy.client import Toxiproxy
from brokertrial.faults.toxiproxy.toxic import ToxiproxyFailed
from brokertrial.suites.targets import readiness
from brokertrial.suites.targets.base import TargetNotReady
from brokertrial.suites.targets.logs import LogWatch
from brokertrial.suites.targets.process import LaunchPlan, ProcessNode
from brokertrial.wire.ports import free_ports

STARTED_WITHIN_S = 20.0
TRIES = 3


class ToxiproxyServer:
    """A context manager; `client` speaks to it."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._watch = LogWatch()
        self._node: ProcessNode | None = None
        self.client = Toxiproxy("127.0.0.1", 0)

    def start(self) -> None:
        """Returns when its control port answers; ToxiproxyFailed where it does not."""
        for left in reversed(range(TRIES)):
            try:
                self._start(free_ports(1)[0])
                return
            except TargetNotReady as problem:  # another program took the port meanwhile
                self.stop()
                if not left:
                    raise ToxiproxyFailed(f"Toxiproxy did not start: {problem}") from problem

    def renew(self) -> None:
        """Kills it and starts it again on its port, without any proxy."""
        assert self._node is not None, "started first"
        self._node.kill()
        try:
            self._node.launch()
            self._node.wait_until_it_serves()
        except TargetNotReady as problem:
            raise ToxiproxyFailed(f"Toxiproxy did not start again: {problem}") from problem

    def stop(self) -> None:
        """Ends it; harmless twice."""
        if self._node is not None:
            self._node.kill()
            self._node = None

    @property
    def pid(self) -> int | None:
        """Its process."""
        return self._node.pid if self._node is not None else None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        self._watch.close()
        if self._node is None and not any(path.stat().st_size for path in self._folder.iterdir()):
            shutil.rmtree(self._folder, ignore_errors=True)  # it had nothing to say

    def _start(self, port: int) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.client = Toxiproxy("127.0.0.1", port)
        log = self._folder / "toxiproxy"
        plan = LaunchPlan(
            [str(self._program), "-host", "127.0.0.1", "-port", str(port), "-proxy-metrics"],
            ("127.0.0.1", port),
            self._folder,
            self._folder,
            log.with_suffix(".out"),
            log.with_suffix(".err"),
            environment={"LOG_LEVEL": "error"},
        )
        self._node = ProcessNode(0, plan, self._serves, self._watch)
        try:
            self._node.launch()
            self._node.wait_until_it_serves()
        except BaseException:
            self._node.kill()
            raise

    def _serves(self, node: ProcessNode) -> None:
        def ask() -> None:
            try:
                self.client.version()
            except ToxiproxyFailed as problem:
                raise readiness.NotYet(str(problem)) from problem

        readiness.wait_until("Toxiproxy did not answer", ask, STARTED_WITHIN_S, node.must_run)

"""What the targets that start processes of their own have in common."""

from __future__ import annotations

import re
import shutil
import sys
import time
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path

from suites.targets import readiness
from suites.targets.address import Address
from suites.targets.base import LogLine, Target, TargetNotReady, Victim
from suites.targets.logs import LogWatch, last_lines
from suites.targets.process import Node, Plan

_PORT_TAKEN = re.compile(r"address (is )?already in use|BindException|EADDRINUSE", re.IGNORECASE)
_TRIES = 3


class ProcessTarget(Target):
    """A cluster of child processes, one a node, with data under the work folder until the end and logs beyond it."""

    capabilities = frozenset({"started", "kill", "terminate", "pause", "restart", "create_topics", "settings", "logs"})

    start_within_s = 60.0
    ask_to_stop_at_the_end = False

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        self.workdir = workdir.resolve()
        self.watch = LogWatch()
        self._nodes: dict[int, Node] = {}

    @abstractmethod
    def plans(self) -> dict[int, Plan]:
        """How each node is run, on ports that are free now, with data folders that are ready for it."""

    @property
    def data(self) -> Path:
        """Where the nodes keep their data; removed at the end."""
        return self.workdir / "data"

    def plan(self, node_id: int, command: list[str], port: int, **more: object) -> Plan:
        """A plan with the files and folders that every node has here."""
        log = self.workdir / f"node-{node_id}"
        folder = self.data / f"node-{node_id}"
        return Plan(
            command=command,
            address=("127.0.0.1", port),
            folder=folder,
            stdout=log.with_suffix(".out"),
            stderr=log.with_suffix(".err"),
            start_within_s=self.start_within_s,
            **more,  # type: ignore[arg-type]
        )

    def start(self) -> None:
        self.workdir.mkdir(parents=True, exist_ok=True)
        for left in reversed(range(_TRIES)):
            try:
                self._start_once()
                return
            except TargetNotReady as error:
                self.end_processes()
                # Between choosing a free port and using it another program may have taken it.
                if not left or not any(_PORT_TAKEN.search(line) for line in error.last_lines):
                    self.stop()
                    raise
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        self.end_processes()
        self.watch.close()
        shutil.rmtree(self.data, ignore_errors=True)

    def end_processes(self) -> None:
        """Ends every node, whatever state it is in."""
        if self.ask_to_stop_at_the_end:
            for node in self._nodes.values():
                node.terminate()
        for node in self._nodes.values():
            node.kill()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in (node.address for node in self._nodes.values()))

    @property
    def nodes(self) -> dict[int, Victim]:
        return dict(self._nodes)

    def alive(self) -> bool:
        return bool(self._nodes) and all(node.alive() and not node.paused() for node in self._nodes.values())

    def recover(self) -> None:
        for node in self._nodes.values():
            if node.paused():
                node.resume()
            node.launch()
        self.wait_until_ready()

    def log_lines(self, begin_ns: int, end_ns: int) -> list[LogLine]:
        return self.watch.lines(begin_ns, end_ns)

    def wait_until_ready(self) -> None:
        """Every node answers ApiVersions, and its Metadata names all nodes."""
        addresses = {node_id: node.address for node_id, node in self._nodes.items()}

        def must_run() -> None:
            for node in self._nodes.values():
                node.must_run()

        self._wait(f"{self.name} did not serve", lambda: self.check_ready(addresses), must_run)

    def check_ready(self, addresses: dict[int, tuple[str, int]]) -> None:
        """Asks once; NotYet if something is missing."""
        readiness.every_node_serves(addresses)

    def node_serves(self, node: Node) -> None:
        """Waits for one node that was started again: it answers, and is a member of its cluster again."""

        def question() -> None:
            brokers = readiness.ask(node.address).brokers
            if node.node_id not in brokers:
                raise readiness.NotYet(f"it names the brokers {sorted(brokers)}, not itself")

        self._wait(f"node {node.node_id} of {self.name} did not serve again", question, node.must_run)

    def make_nodes(self) -> None:
        """Builds the nodes from their plans; starts none."""
        self._nodes = {
            node_id: Node(node_id, plan, self.node_serves, self.watch) for node_id, plan in self.plans().items()
        }

    def _start_once(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
        self.make_nodes()
        for node in self._nodes.values():
            node.launch()
        self.wait_until_ready()

    def _wait(self, what: str, question: Callable[[], None], must_run: Callable[[], None]) -> None:
        try:
            readiness.wait_until(what, question, self.start_within_s, must_run)
        except TargetNotReady as error:
            if not error.last_lines:
                files = [path for node in self._nodes.values() for path in node.log_files]
                error.last_lines = last_lines(files)
            raise


def python(*module_and_arguments: str) -> list[str]:
    """A command that runs a module with this Python, safe from what lies in the working folder."""
    return [sys.executable, "-P", "-m", *module_and_arguments]


def now_ns() -> int:
    """The clock of histories and of log lines."""
    return time.monotonic_ns()

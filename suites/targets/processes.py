"""What the targets that start processes of their own have in common."""

from __future__ import annotations

import atexit
import re
import shutil
import sys
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path

from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.packets import Members, NetworkFailed
from brokertrial.suites.capabilities import NETWORK
from brokertrial.suites.targets import readiness, reaper
from brokertrial.suites.targets.address import Address
from brokertrial.suites.targets.base import NodeLogLine, Target, TargetNotReady
from brokertrial.suites.targets.listeners import ListeningProcess, listeners
from brokertrial.suites.targets.logs import LogWatch, last_lines
from brokertrial.suites.targets.network.abilities import offered_here
from brokertrial.suites.targets.network.node_network import NodeNetwork
from brokertrial.suites.targets.network.packet_rules import PORTS
from brokertrial.suites.targets.process import LaunchPlan, ProcessNode
from brokertrial.wire.addresses import all_written

_PORT_TAKEN = re.compile(r"address (is )?already in use|BindException|EADDRINUSE", re.IGNORECASE)
_TRIES = 3
_PATIENCE_S = 20.0


class ProcessTarget(Target):
    """A cluster of child processes, one a node, with data under the work folder until the end and logs beyond it."""

    capabilities = frozenset({"started", "kill", "terminate", "pause", "restart", "create_topics", "settings", "logs"})

    start_within_s = 60.0
    ask_to_stop_at_the_end = False

    def __init__(self, address: Address, workdir: Path) -> None:
        super().__init__(address, workdir)
        self.watch = LogWatch()
        self._nodes: dict[int, ProcessNode] = {}
        self._helpers: list[ProcessNode] = []
        self._network: NodeNetwork | None = None

    @abstractmethod
    def plans(self) -> dict[int, LaunchPlan]:
        """How each node is run, on ports that are free now, with data folders that are ready for it."""

    def helper_plans(self) -> dict[int, LaunchPlan]:
        """Processes that the nodes need, such as a controller; asked for after `plans`."""
        return {}

    def helper_serves(self, node: ProcessNode) -> None:
        """Waits for one of those that was started again."""
        self.node_serves(node)

    @property
    def members(self) -> Members | None:
        """Who would be in a network of its own; None where the nodes cannot be put into one."""
        return None

    @property
    def stated_logs(self) -> tuple[Path, ...]:
        """Log files that its nodes are said to write, beyond their stdout and stderr."""
        return tuple(path for node in self._nodes.values() for path in node.plan.logs)

    @property
    def data(self) -> Path:
        """Where the nodes keep their data; removed at the end."""
        return self.workdir / "data"

    @property
    def unread_data(self) -> Path:
        """Data that the nodes did not start with again."""
        return self.workdir / "unread-data"

    def plan(self, node_id: int, command: list[str], address: tuple[str, int]) -> LaunchPlan:
        """A plan with the files and folders that every node has here."""
        folder = self.data / f"node-{node_id}"
        log = self.workdir / f"node-{node_id}"
        if self._network is not None:
            command = self._network.inside(node_id, command)
        return LaunchPlan(command, address, folder, folder, log.with_suffix(".out"), log.with_suffix(".err"))

    def start(self) -> None:
        self.workdir.mkdir(parents=True, exist_ok=True)
        reaper.stand_ready()
        atexit.register(self.stop)  # for who forgets to stop it
        if self.members is not None:
            self.capabilities = self.capabilities | offered_here()
        if self.begins_in_network and NETWORK in self.capabilities:
            self._make_network()
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
        atexit.unregister(self.stop)
        self.end_processes()
        if self._network is not None:
            self._network.close()
        self.watch.close()
        self._keep_logs()
        shutil.rmtree(self.data, ignore_errors=True)

    def end_processes(self) -> None:
        """Ends every node, whatever state it is in."""
        if self.ask_to_stop_at_the_end:
            for node in self._nodes.values():
                node.ask_to_stop()
            for node in self._nodes.values():
                node.terminate()
        for node in (*self._nodes.values(), *self._helpers):
            node.kill()
        for node in (*self._nodes.values(), *self._helpers):
            node.end_escaped()

    @property
    def bootstrap(self) -> str:
        return all_written(node.address for node in self._nodes.values())

    @property
    def nodes(self) -> dict[int, NodeControl]:
        return dict(self._nodes)

    @property
    def network(self) -> NodeNetwork | None:
        return self._network

    def enter_network(self) -> None:
        self.end_processes()
        self._make_network()
        self._start_once()

    def _make_network(self) -> None:
        assert self.members is not None, "asked only of targets with the capability `network`"
        if self._network is not None:
            self._network.close()
        try:
            self._network = NodeNetwork.made(self.members)
        except NetworkFailed as problem:
            raise TargetNotReady(f"{self.name} could not be put into a network of its own: {problem}") from problem

    def alive(self) -> bool:
        running = (*self._helpers, *self._nodes.values())
        return bool(self._nodes) and all(node.alive() and not node.paused() for node in running)

    def served_by(self, place: tuple[str, int]) -> frozenset[ListeningProcess]:
        port = place[1] if self._network is None else PORTS["clients"]
        sessions = [node.pid for node in self._nodes.values() if node.pid is not None and node.address[1] == place[1]]
        return frozenset(each for session in sessions for each in listeners(port, session))

    def unreached(self) -> str:
        return self._network.fault() if self._network is not None else ""

    def recover(self) -> None:
        """Thaws what is paused, starts what has ended; what runs but serves no more is killed and started again."""
        if self._network is not None:
            self._network.mend()
        for node in (*self._helpers, *self._nodes.values()):
            if node.alive():
                node.resume()
            elif node.exit_status is not None:
                node.launch()
        try:
            self.wait_until_ready(min(self.start_within_s, _PATIENCE_S))
        except TargetNotReady:
            for node in self._nodes.values():
                node.kill()
                node.launch()
            self.wait_until_ready()

    @property
    def restartable(self) -> bool:
        return True

    def restart(self) -> None:
        for node in (*self._helpers, *self._nodes.values()):
            node.kill()
            node.launch()
        self.wait_until_ready()

    def start_without_data(self) -> None:
        """Starts every node anew, perhaps on other ports; of the data that it had the first are kept for who looks for
        the reason."""
        self.end_processes()
        if self.data.is_dir() and not self.unread_data.exists():
            self.data.rename(self.unread_data)
        self._start_once()

    def log_lines(self, begin_ns: int, end_ns: int) -> list[NodeLogLine]:
        return self.watch.lines(begin_ns, end_ns)

    def wait_until_ready(self, within_s: float | None = None) -> None:
        """Every node answers ApiVersions, and its Metadata names all nodes."""
        self.wait_for(
            f"{self.name} did not serve",
            lambda: readiness.every_node_serves(self.addresses()),
            self.must_run,
            within_s,
        )

    def addresses(self) -> dict[int, tuple[str, int]]:
        """Where every node listens."""
        return {node_id: node.address for node_id, node in self._nodes.items()}

    def must_run(self) -> None:
        """Raises TargetNotReady if a node has ended."""
        for node in (*self._helpers, *self._nodes.values()):
            node.must_run()

    def node_serves(self, node: ProcessNode) -> None:
        """Waits for one node that was started again: it answers, and is a member of its cluster again."""
        self.wait_for(
            f"node {node.node_id} of {self.name} did not serve again",
            lambda: readiness.is_member(node.node_id, node.address),
            node.must_run,
        )

    def make_nodes(self) -> None:
        """Builds the nodes from their plans; starts none."""
        self._nodes = {
            node_id: ProcessNode(node_id, plan, self.node_serves, self.watch) for node_id, plan in self.plans().items()
        }
        helpers = self.helper_plans().items()
        self._helpers = [ProcessNode(node_id, plan, self.helper_serves, self.watch) for node_id, plan in helpers]

    def _keep_logs(self) -> None:
        """Log files that the nodes wrote among their data outlive it; what is left of a node writes to no file of the
        run any more."""
        for node in (*self._nodes.values(), *self._helpers):
            for path in (node.plan.stdout, node.plan.stderr):
                if path.is_file():
                    copied = path.with_name(f".{path.name}.new")
                    shutil.copyfile(path, copied)
                    copied.replace(path)
        for node in self._nodes.values():
            for path in node.plan.logs:
                if path.is_file() and path.is_relative_to(self.data):
                    shutil.copyfile(path, self.workdir / f"node-{node.node_id}-{path.name}")

    def _start_once(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
        self.make_nodes()
        for node in (*self._helpers, *self._nodes.values()):
            node.launch()
        self.wait_until_ready()

    def wait_for(
        self, what: str, question: Callable[[], object], must_run: Callable[[], None], within_s: float | None = None
    ) -> None:
        """Asks until the answer is not NotYet; at the deadline TargetNotReady with the last log lines."""
        try:
            readiness.wait_until(what, question, within_s or self.start_within_s, must_run)
        except TargetNotReady as error:
            if not error.last_lines:
                running = (*self._helpers, *self._nodes.values())
                files = [path for node in running for path in node.log_files]
                error.last_lines = last_lines(files)
            raise


def python(*module_and_arguments: str) -> list[str]:
    """A command that runs a module with this Python, safe from what lies in the working folder."""
    return [sys.executable, "-P", "-m", *module_and_arguments]

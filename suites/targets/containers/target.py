"""What targets in containers have in common: started, hurt, brought back, and gone at the end, however that comes."""

from __future__ import annotations

import atexit
import re
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from brokertrial.faults.node_control import NodeControl
from brokertrial.suites.targets import readiness
from brokertrial.suites.targets.base import NodeLogLine, Target, TargetNotReady
from brokertrial.suites.targets.logs import LogWatch, last_lines
from brokertrial.wire.addresses import all_written

if TYPE_CHECKING:  # loads the engine's client library, which few runs need
    from brokertrial.suites.targets.containers.guardian import Guardian
    from brokertrial.suites.targets.containers.node import ContainerNode, ContainerPlan

PORT_TAKEN = re.compile(r"address (is )?already in use|BindException|EADDRINUSE", re.IGNORECASE)
TRIES = 3
PATIENCE_S = 20.0


class ContainerTarget(Target):
    """A cluster of containers, one a node, with their data inside and their logs in the run folder."""

    start_within_s = 90.0
    _client: Any = None

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.watch = LogWatch()
        self._nodes: dict[int, ContainerNode] = {}
        self._helpers: list[ContainerNode] = []
        self._guardian: Guardian | None = None

    @abstractmethod
    def plans(self) -> dict[int, ContainerPlan]:
        """How each node is run, on ports that are free now."""

    def helper_plans(self) -> dict[int, ContainerPlan]:
        """Containers that the nodes need and that no fault hits; asked for after `plans`."""
        return {}

    def served(self) -> None:
        """Called whenever every node serves."""

    def start(self) -> None:
        from brokertrial.faults.owners import is_orphan
        from brokertrial.suites.targets.containers import engine
        from brokertrial.suites.targets.containers.guardian import Guardian

        self.workdir.mkdir(parents=True, exist_ok=True)
        self._client = engine.engine()
        engine.remove(self._client, is_orphan)
        self._guardian = Guardian()
        atexit.register(self.stop)
        for left in reversed(range(TRIES)):
            try:
                self._start_once()
                return
            except TargetNotReady as error:
                if not left or not any(PORT_TAKEN.search(line) for line in error.last_lines):
                    self.stop()
                    raise
                self._remove_nodes()
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        atexit.unregister(self.stop)
        try:
            self._remove_nodes()
        finally:
            guardian, self._guardian = self._guardian, None
            if guardian is not None:
                guardian.dismiss()
            self.watch.close()

    @property
    def bootstrap(self) -> str:
        return all_written(node.address for node in self._nodes.values())

    @property
    def nodes(self) -> dict[int, NodeControl]:
        return dict(self._nodes)

    def alive(self) -> bool:
        return bool(self._nodes) and all(node.state() == "running" for node in self._everything)

    def recover(self) -> None:
        for node in self._everything:
            node.resume()
            node.launch()
        try:
            self.wait_until_ready(min(self.start_within_s, PATIENCE_S))
        except TargetNotReady:
            self.restart()

    @property
    def restartable(self) -> bool:
        return True

    def restart(self) -> None:
        for node in self._everything:
            node.kill()
            node.launch()
        self.wait_until_ready()

    def log_lines(self, begin_ns: int, end_ns: int) -> list[NodeLogLine]:
        return self.watch.lines(begin_ns, end_ns)

    def wait_until_ready(self, within_s: float | None = None) -> None:
        """Every node answers ApiVersions, and its Metadata names all nodes."""
        places = {node_id: node.address for node_id, node in self._nodes.items()}
        self._wait(f"{self.name} did not serve", lambda: readiness.every_node_serves(places), self._must_run, within_s)
        self.served()

    @property
    def _everything(self) -> list[ContainerNode]:
        return [*self._helpers, *self._nodes.values()]

    def _start_once(self) -> None:
        from brokertrial.suites.targets.containers.node import ContainerNode

        self._nodes = {
            node_id: ContainerNode(node_id, plan, self._node_serves, self.watch)
            for node_id, plan in self.plans().items()
        }
        self._helpers = [
            ContainerNode(node_id, plan, lambda node: None, self.watch) for node_id, plan in self.helper_plans().items()
        ]
        for node in self._everything:
            node.launch()
        self.wait_until_ready()

    def _remove_nodes(self) -> None:
        for node in self._everything:
            with suppress(TargetNotReady):  # the guardian tries once more, and the next run
                node.remove()

    def _node_serves(self, node: ContainerNode) -> None:
        self._wait(
            f"node {node.node_id} of {self.name} did not serve again",
            lambda: readiness.is_member(node.node_id, node.address),
            node.must_run,
        )

    def _must_run(self) -> None:
        for node in self._everything:
            node.must_run()

    def _wait(
        self, what: str, question: Callable[[], object], must_run: Callable[[], None], within_s: float | None = None
    ) -> None:
        try:
            readiness.wait_until(what, question, within_s or self.start_within_s, must_run)
        except TargetNotReady as error:
            if not error.last_lines:
                error.last_lines = last_lines([node.plan.log for node in self._everything])
            raise

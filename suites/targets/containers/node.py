"""A node in a container of its own: started, killed, paused and started again on the same port with the same data."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from brokertrial.faults.node_control import NodeCommand
from brokertrial.faults.owners import owner
from brokertrial.suites.targets.base import TargetNotReady
from brokertrial.suites.targets.containers.engine import CALL_WITHIN_S, LABEL, calls
from brokertrial.suites.targets.logs import LogWatch, last_lines

STATE_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """How one container is run. Its network is that of this machine; it listens on `address`."""

    image: str
    address: tuple[str, int]
    log: Path
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Of memory and processors, as docker-py names them."""
    stop_within_s: float = 30.0
    stop_signal: str = "SIGTERM"


class ContainerNode:
    """A victim for faults/. `serves` is the target's own question: does this node serve?"""

    pid: int | None = None

    def __init__(
        self, node_id: int, plan: ContainerPlan, serves: Callable[[ContainerNode], None], watch: LogWatch
    ) -> None:
        self.node_id = node_id
        self.plan = plan
        self.name = f"{owner()}-{plan.address[1]}"
        self.ended_when_asked: bool | None = None
        self._serves = serves
        self._made: Any = None
        self._copying: threading.Thread | None = None
        self._lock = threading.RLock()
        watch.follow(node_id, plan.log)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return self.plan.address

    def launch(self) -> None:
        """Makes and starts the container, or starts it again; returns at once."""
        with self._lock:
            if self.alive():
                return
            since = time.time()
            with calls(f"start node {self.node_id}"):
                if self._made is None:
                    self._make()
                else:
                    self._container.start()
            self._copy_log(since)

    def kill(self) -> None:
        """SIGKILL to all its processes; returns when they are gone. Its files stay."""
        with self._lock, calls(f"kill node {self.node_id}"):
            if self._made is None or self.state() not in ("running", "paused"):
                return
            if self.state() == "paused":  # frozen processes do not die by a signal on every engine
                self._container.unpause()
            self._container.kill()
            self._wait_for("exited")

    def terminate(self) -> None:
        """Asks it to stop and waits; the engine kills it after its time limit."""
        with self._lock, calls(f"stop node {self.node_id}"):
            if self._made is None or not self.alive():
                return
            self.resume()
            begun = time.monotonic()
            self._container.kill(signal=self.plan.stop_signal)
            try:
                self._wait_for("exited", self.plan.stop_within_s)
                self.ended_when_asked = True
            except TargetNotReady:
                self.ended_when_asked = False
                self._container.kill()
                self._wait_for("exited", STATE_WITHIN_S + time.monotonic() - begun)

    def pause(self) -> None:
        """Freezes all its processes, by the freezer of the kernel."""
        with self._lock, calls(f"pause node {self.node_id}"):
            self._container.pause()

    def resume(self) -> None:
        """Thaws them."""
        with self._lock, calls(f"resume node {self.node_id}"):
            if self.paused():
                self._container.unpause()

    def restart(self) -> None:
        """Stops it if it runs, starts it on its port with its data, and returns when it serves."""
        self.terminate()
        self.launch()
        self._serves(self)

    def alive(self) -> bool:
        """Whether its first process exists, paused or not."""
        return self.state() in ("running", "paused")

    def paused(self) -> bool:
        """Whether it is frozen."""
        return self.state() == "paused"

    def must_run(self) -> None:
        """Raises TargetNotReady with the last log lines if it has ended."""
        if self._made is not None and (state := self.state()) not in ("created", "running", "paused", "restarting"):
            self._await_log()
            said = f"node {self.node_id} is {state} (status {self._container.attrs['State'].get('ExitCode')})"
            raise TargetNotReady(f"{said} before it served", last_lines=last_lines([self.plan.log]))

    def undo_command(self, what: Literal["paused", "down"]) -> NodeCommand | None:
        """What undoes it when the suite is gone, as long as the container is there."""
        return NodeCommand(("docker", "unpause" if what == "paused" else "start", self.name), str(self.plan.log.parent))

    def state(self) -> str:
        """The engine's own word for how it is."""
        if self._made is None:
            return "absent"
        with calls(f"look at node {self.node_id}"):
            self._container.reload()
            return str(self._container.status)

    def remove(self) -> None:
        """Ends it, and nothing of it is left but its log."""
        with self._lock:
            made, self._made = self._made, None
            if made is not None:
                with calls(f"remove node {self.node_id}"):
                    made.stop()
        self._await_log()

    def _await_log(self) -> None:
        """What it printed to its end is in its log."""
        if self._copying is not None:
            self._copying.join(timeout=5)

    @property
    def _container(self) -> Any:
        return self._made.get_wrapped_container()

    def _make(self) -> None:
        from testcontainers.core.container import DockerContainer

        plan = self.plan
        made = DockerContainer(plan.image, docker_client_kw={"timeout": CALL_WITHIN_S}, name=self.name)
        made.with_envs(**plan.environment)
        if plan.command:
            made.with_command(list(plan.command))
        made.with_kwargs(network_mode="host", labels={LABEL: owner()}, **plan.limits)
        try:
            made.start()
        finally:
            if made.get_wrapped_container() is not None:
                self._made = made

    def _copy_log(self, since: float) -> None:
        """What it prints from this time on goes to the log of the run; ends with the container."""
        container = self._container

        def copy() -> None:
            with self.plan.log.open("ab", buffering=0) as log:
                try:
                    for chunk in container.logs(stream=True, follow=True, since=since):
                        log.write(chunk)
                except Exception:  # noqa: BLE001 - the engine or the container is gone, and with it what it prints
                    return

        self._copying = threading.Thread(target=copy, name=f"log of {self.name}", daemon=True)
        self._copying.start()

    def _wait_for(self, state: str, within_s: float = STATE_WITHIN_S) -> None:
        deadline, pulse = time.monotonic() + within_s, threading.Event()
        while (now := self.state()) != state:
            if time.monotonic() >= deadline:
                raise TargetNotReady(f"node {self.node_id} is {now}, not {state}, after {within_s:g} s")
            pulse.wait(0.02)

"""`--nodes 3`: a controller and several brokers as processes on loopback, until Ctrl-C.

Each child holds the reading end of a pipe whose other end is here: whatever ends this process ends them too. They are
in its process group, so that what pauses that pauses all.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from brokertrial.reference_impl.stop_signals import stop_signals
from brokertrial.wire.ports import free_ports

READY_WITHIN_S = 90.0  # half a second when the machine has time
_PYTHON = (sys.executable, "-P", "-m", "brokertrial.reference_impl")
_STOP_WITHIN_S = 8.0


class ClusterFailed(Exception):
    """A node did not come up; the sentence says which, and what it said last."""


def run(nodes: int, data: Path | None, port: int, rest: list[str]) -> int:
    """Starts all, says where they are, and ends all when it is told to stop or one of them ends; the exit status."""
    if nodes < 1:
        print("reference_impl: --nodes needs a number of 1 or more", file=sys.stderr)
        return 4
    folder = Path(tempfile.mkdtemp(prefix="brokertrial-cluster-")) if data is None else data.absolute()
    for number in stop_signals():
        signal.signal(number, _interrupt)
    cluster = Cluster(folder, nodes, port, [one for one in rest if one != "--"])
    try:
        cluster.start()
        ids = ", ".join(str(one) for one in cluster.ports)
        print(f"bootstrap: {cluster.bootstrap}\nnodes: {ids}\ndata: {folder}", flush=True)
        cluster.wait()
    except KeyboardInterrupt:
        return 0
    except ClusterFailed as failed:
        print(f"reference_impl: {failed}", file=sys.stderr)
        return 7
    finally:
        cluster.stop()
        if data is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


class Cluster:
    """The processes: node 0 is the controller, 1 to n the brokers."""

    def __init__(self, folder: Path, nodes: int, port: int, rest: list[str]) -> None:
        self._folder, self._nodes, self._first_port, self._rest = folder, nodes, port, rest
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._commands: dict[int, list[str]] = {}
        self.ports: dict[int, int] = {}
        self.controller_port = 0

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def start(self) -> None:
        """Returns when every broker may lead; raises ClusterFailed and leaves the rest to `stop`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        # Chosen here, so that all can start at once.
        controller_port, *free = free_ports(1 + self._nodes)
        self.controller_port = controller_port
        shared = [*_replicated(min(3, self._nodes)), *self._rest]
        self._commands[0] = ["controller", "--node-id", "100", "--port", str(controller_port), *shared]
        for node in range(1, self._nodes + 1):
            port = self._first_port + node - 1 if self._first_port else free[node - 1]
            where = ["--node-id", str(node), "--port", str(port), "--controller", f"127.0.0.1:{controller_port}"]
            self._commands[node] = ["node", *where, *shared]
        for node in self._commands:
            self._launch(node)
        deadline = time.monotonic() + READY_WITHIN_S
        for node in self._processes:
            self.ports[node] = self._ready(node, deadline)
        del self.ports[0]

    def kill(self, node: int) -> None:
        """As `kill -9`; returns when the process is gone."""
        process = self._processes[node]
        process.kill()
        process.wait()
        _close(process)

    def restart(self, node: int) -> None:
        """Starts a killed broker on its port with its data; returns when it may lead."""
        self._launch(node)
        self._ready(node, time.monotonic() + READY_WITHIN_S)

    def runs(self, node: int) -> bool:
        """Whether its process is there."""
        return self._processes[node].poll() is None

    def pid_of(self, node: int) -> int:
        """Its process, for who wants to look at it."""
        return self._processes[node].pid

    def data_of(self, node: int) -> Path:
        """Where a node keeps its data; 0 is the controller."""
        return self._folder / (f"node-{node}" if node else "controller")

    def _launch(self, node: int) -> None:
        data = self.data_of(node)
        data.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{data.name}.log").open("ab") as log:
            self._processes[node] = subprocess.Popen(
                [*_PYTHON, *self._commands[node], "--data", str(data), "--die-with-parent"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip

    def _ready(self, node: int, deadline: float) -> int:
        stdout = self._processes[node].stdout
        assert stdout is not None
        readable, _, _ = select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))
        line = stdout.readline() if readable else b""
        if not line:
            name = f"node {node}" if node else "the controller"
            log = self._folder / f"{self.data_of(node).name}.log"
            last = log.read_text(errors="replace").splitlines()[-5:]
            raise ClusterFailed(f"{name} was not ready within {READY_WITHIN_S:g} s:\n  " + "\n  ".join(last))
        return int(json.loads(line)["port"])

    def wait(self) -> None:
        """Returns when one of the processes has ended."""
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        ended = [node for node, process in self._processes.items() if process.poll() is not None]
        raise ClusterFailed(f"node {ended[0] if ended else '?'} has ended by itself")

    def stop(self) -> None:
        """Brokers first, so that they can hand over; whoever takes too long is killed."""
        for node in sorted(self._processes, reverse=True):
            process = self._processes[node]
            if node:
                process.terminate()
        deadline = time.monotonic() + _STOP_WITHIN_S
        for node in sorted(self._processes, reverse=True):
            process = self._processes[node]
            if not node:
                _ask_to_stop(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.1, deadline - time.monotonic()))
            process.kill()
            process.wait()
            _close(process)
        self._processes.clear()


def _ask_to_stop(controller: subprocess.Popen[bytes]) -> None:
    """By a line: a signal to the process group must not end it before the brokers have handed over."""
    assert controller.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        controller.stdin.write(b"stop\n")
        controller.stdin.flush()


def _replicated(copies: int) -> list[str]:
    """How a cluster of so many copies replicates, as settings."""
    settings = [f"default.replication.factor={copies}", f"min.insync.replicas={max(copies - 1, 1)}"]
    for topic in ("offsets.topic", "transaction.state.log"):
        settings += [f"{topic}.replication.factor={copies}", f"{topic}.num.partitions=8"]
    return [f"--set={setting}" for setting in settings]


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()

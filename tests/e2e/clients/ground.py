"""Where a client is tried: one node or three, left alone or with leaders that die one after the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Protocol

from brokertrial.reference_impl.broker.cluster import Cluster
from campaigns.kills.support import all_in_sync, control, wait_for
from tests.reference_impl.brokers import BrokerProcess

PATIENCE_S, PAUSE_S = 120.0, (0.5, 4.0)
EVERY, REST_S = 5, 9.0
"""After so many kills there is a pause in which a session of 6 s can end: a new coordinator gives every member a whole
one, also a member whose farewell was lost."""
SETTINGS = ["--log-level", "WARNING", "--set", "group.consumer.session.timeout.ms=6000"]
"""The sessions of classic members are 6 s too."""


class Ground(Protocol):
    """One node or several."""

    @property
    def bootstrap(self) -> str:
        """Where clients begin."""

    def kill_one(self, rng: Random) -> None:
        """kill -9 of a broker that leads something; returns when it is back and everything is as it was."""

    def complaints(self) -> list[str]:
        """Lines of the logs that tell of a failure inside a broker."""


class OneNode:
    """A broker alone."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._broker = BrokerProcess(folder / "node", *SETTINGS)

    def start(self) -> None:
        self._broker.start()

    def stop(self) -> None:
        self._broker.kill()

    @property
    def bootstrap(self) -> str:
        return self._broker.bootstrap

    def kill_one(self, rng: Random) -> None:
        self._broker.kill()
        self._broker.start()

    def complaints(self) -> list[str]:
        return _complaints(self._broker.log)


class ThreeNodes:
    """A cluster with replication factor 3 and min.insync.replicas 2."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cluster = Cluster(folder, 3, 0, SETTINGS)

    def start(self) -> None:
        self._cluster.start()

    def stop(self) -> None:
        self._cluster.stop()

    @property
    def bootstrap(self) -> str:
        return self._cluster.bootstrap

    def kill_one(self, rng: Random) -> None:
        """Every partition counts once, those of the coordinators too."""
        placed = control(self._cluster, 0, do="dump")["partitions"]
        node_control = rng.choice([one["leader"] for one in placed if one["leader"] > 0] or [1, 2, 3])
        self._cluster.kill(node_control)
        self._cluster.restart(node_control)
        wait_for("all replicas in sync", lambda: all_in_sync(self._cluster), PATIENCE_S)

    def complaints(self) -> list[str]:
        return [line for log in self._folder.glob("*.log") for line in _complaints(log)]


def _complaints(log: Path) -> list[str]:
    lines = log.read_text("utf-8", "replace").splitlines()
    return [f"{log.name}: {line}" for line in lines if " ERROR " in line or line.startswith("Traceback")]


GROUNDS = {1: OneNode, 3: ThreeNodes}


@contextmanager
def prepared(nodes: int, folder: Path) -> Iterator[Ground]:
    """Brokers that run, ended whatever happens."""
    trial_context = GROUNDS[nodes](folder)
    try:
        trial_context.start()
        yield trial_context
    finally:
        trial_context.stop()


class Storm(threading.Thread):
    """Kills brokers at random moments, with a rest now and then, until it is told to stop."""

    def __init__(self, trial_context: Ground, rng: Random) -> None:
        super().__init__(name="storm", daemon=True)
        self._ground, self._rng, self._stopping = trial_context, rng, threading.Event()
        self.kills = 0
        self._failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stopping.wait(self._pause_s()):
                self._ground.kill_one(self._rng)
                self.kills += 1
        except BaseException as failure:  # noqa: BLE001  told to who waits
            self._failure = failure

    def _pause_s(self) -> float:
        return REST_S if self.kills % EVERY == EVERY - 1 else self._rng.uniform(*PAUSE_S)

    def stop(self) -> None:
        """Returns when the last one killed is back."""
        self._stopping.set()
        self.join(2 * PATIENCE_S)
        if self._failure is not None:
            raise self._failure

"""What every workload is: topics to make, clients to start, and what must move for it to be healthy."""

from __future__ import annotations

import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from brokertrial.histories.rows import PartitionId
from brokertrial.suites.workloads.context import Lagging, WorkloadContext
from brokertrial.suites.workloads.fresh import Fresh


@dataclass(frozen=True)
class TopicPlan:
    """A topic that a workload wants; `name` is what the schedule calls it: {topic}."""

    name: str = "topic"
    partitions: int = 1
    configs: tuple[tuple[str, str], ...] = ()


class Workload(ABC):
    """A noun that a case supplies. Frozen data: `clients` makes the threads of one trial."""

    @property
    @abstractmethod
    def topics(self) -> tuple[TopicPlan, ...]:
        """The topics to make before the clients start."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names that the schedule uses for consumer groups: {group}."""
        return ()

    @property
    def transactional_ids(self) -> tuple[str, ...]:
        """Names that the schedule uses for transactional ids: {transactional_id}."""
        return ()

    @property
    def apis(self) -> dict[str, int]:
        """What the broker must offer besides Produce, Fetch and Metadata."""
        return {}

    @abstractmethod
    def clients(self, context: WorkloadContext, names: dict[str, str]) -> list[Actor]:
        """The clients, not started. `names` gives each {word} its name in this run."""

    @abstractmethod
    def must_move(self, context: WorkloadContext) -> list[str]:
        """What must be acknowledged again after the faults are healed, by the names that the clients report."""

    def fresh(self, fresh: Fresh, context: WorkloadContext, names: dict[str, str], lags: list[Lagging]) -> None:
        """Does by fresh clients around the proxy the very thing that is stuck; raises NoFreshProgress.

        `lags` are the readers that are behind.
        """
        fresh.send(context.places)
        fresh.read(lags)

    def readers(self, context: WorkloadContext) -> dict[str, dict[PartitionId, int]]:
        """Which readers must reach which offsets before the trial may end."""
        return {}


class Actor(threading.Thread):
    """One client in a thread of its own. `act` returns when the stage is stopping."""

    def __init__(self, name: str, context: WorkloadContext, act: Callable[[], None]) -> None:
        super().__init__(name=name, daemon=True)
        self.context = context
        self._act = act

    def run(self) -> None:
        try:
            self._act()
        except Exception:  # noqa: BLE001 - a client that fails is ours: it is told, and withholds the pass
            self.context.trouble(f"client {self.name}: {traceback.format_exc(limit=4)}")

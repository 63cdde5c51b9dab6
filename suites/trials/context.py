"""The ground on which a trial stands: the target around the proxy, its nodes, the history, names, listeners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from brokertrial.faults.discovery import discover
from brokertrial.faults.kind import ByteFault
from brokertrial.faults.kinds import fault_of
from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.packets import NetworkControl
from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.faults.schedule import Schedule
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.events import PhaseChanged, TrialProgress
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.promptness import counted_ms
from brokertrial.suites.probe.wire import Wire

if TYPE_CHECKING:  # loads the client library of Toxiproxy, which few runs need
    from brokertrial.faults.toxiproxy.node_lines import NodeLines
    from brokertrial.suites.toxiproxy.toxiproxies import Toxiproxies


class TrialContext:
    """What the conductor is given; made by suites/trials/attempt.py."""

    def __init__(
        self,
        *,
        case_context: CaseContext,
        recorder: Recorder,
        node_controls: Mapping[int, NodeControl],
        wire: Callable[[str], Wire],
        bootstrap: list[tuple[str, int]],
        reach: Mapping[str, str],
        topics: Mapping[str, int],
        names: dict[str, str],
        alive: Callable[[], bool],
        emit: Callable[[PhaseChanged | TrialProgress], None],
        journal: Path,
        network: NetworkControl | None = None,
        toxiproxies: Toxiproxies | None = None,
    ) -> None:
        self.case_context = case_context
        self.recorder = recorder
        self.node_controls = node_controls
        self._wire = wire
        self.topics = topics
        self.names = names
        self.alive = alive
        self.emit = emit
        self._bootstrap = bootstrap
        self._reach = reach
        self._journal = journal
        self.network = network
        self._toxiproxies = toxiproxies
        self.lines: NodeLines | None = None
        """The lines through Toxiproxy, while there are links whose schedule needs them."""

    def wire(self, client_id: str = "") -> Wire:
        """A probe around the proxy, under a client id of its own where one is given."""
        return self._wire(client_id)

    @contextmanager
    def links(self, schedule: Schedule) -> Iterator[FaultProxy]:
        """The proxy in front of the target; behind it Toxiproxy, where a fault of the schedule is to bytes."""
        reach = dict(self._reach)
        with ExitStack() as behind:
            if self._toxiproxies is not None and any(isinstance(fault_of(each), ByteFault) for each in schedule):
                nodes = discover(self._bootstrap, reach=reach)
                folder = self._journal.parents[1] / "toxiproxy" / self._journal.stem
                name = self.case_context.case.replace("/", "-")
                self.lines = behind.enter_context(self._toxiproxies.lines(nodes, reach, folder, name))
                reach |= self.lines.reach
            with FaultProxy.start(
                self._bootstrap,
                seed=self.case_context.seed,
                journal=self._journal,
                reach=reach,
                leaderless=self.case_context.leaderless,
                record=(f"{self.case_context.prefix}-*",),
                aliases=(self.case_context.prefix, self.case_context.salt),
            ) as links:
                yield links

    def limit(self, seconds: float) -> float:
        """A limit for this target: seconds on a fast one, up to 100 s more where answers take longer."""
        return seconds + counted_ms(self.case_context.latency_ms) / 10

    def phase(self, name: str) -> None:
        """Tells listeners and history where the trial is."""
        self.recorder.event("phase", phase=name)
        self.emit(PhaseChanged(self.case_context.case, name))

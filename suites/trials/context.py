"""The ground on which a trial stands: the target around the proxy, its nodes, the history, names, listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from brokertrial.faults.node_control import NodeControl
from brokertrial.faults.packets import NetworkControl
from brokertrial.faults.proxy_process import FaultProxy
from brokertrial.histories.recorder import Recorder
from brokertrial.suites.events import PhaseChanged, TrialProgress
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.promptness import counted_ms
from brokertrial.suites.probe.wire import Wire


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

    def wire(self, client_id: str = "") -> Wire:
        """A probe around the proxy, under a client id of its own where one is given."""
        return self._wire(client_id)

    def links(self) -> FaultProxy:
        """The proxy in front of the target, as a context manager."""
        return FaultProxy.start(
            self._bootstrap,
            seed=self.case_context.seed,
            journal=self._journal,
            reach=dict(self._reach),
            leaderless=self.case_context.leaderless,
            record=(f"{self.case_context.prefix}-*",),
            aliases=(self.case_context.prefix, self.case_context.salt),
        )

    def limit(self, seconds: float) -> float:
        """A limit for this target: seconds on a fast one, up to 100 s more where answers take longer."""
        return seconds + counted_ms(self.case_context.latency_ms) / 10

    def phase(self, name: str) -> None:
        """Tells listeners and history where the trial is."""
        self.recorder.event("phase", phase=name)
        self.emit(PhaseChanged(self.case_context.case, name))

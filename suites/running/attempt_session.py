"""What an attempt at a case asks of the session of its run: the target, probes, and where things are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from brokertrial.faults.node_control import NodeControl
from brokertrial.suites.events import RunEvent
from brokertrial.suites.probe.cluster_settings import ClusterSettings
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.default_topics import DefaultTopicsProbe
from brokertrial.suites.probe.exchanger import LiveExchanger
from brokertrial.suites.probe.permission_check import RunPermissions
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.cluster_moves import ClusterMoves
from brokertrial.suites.running.interruption import Interruption
from brokertrial.suites.running.support import TargetSupport
from brokertrial.suites.targets import Target

if TYPE_CHECKING:
    from brokertrial.suites.toxiproxy.toxiproxies import Toxiproxies


class AttemptSession(Protocol):
    """The part of a TargetSession that attempts use; see there."""

    target: Target
    run_dir: Path
    profile: str
    version: str
    offer: TargetSupport
    set_up: ClusterSettings
    permissions: RunPermissions
    cluster_moves: ClusterMoves
    interruption: Interruption
    results: list[CaseResult]
    toxiproxies: Toxiproxies | None

    @property
    def emit(self) -> Callable[[RunEvent], None]: ...
    @property
    def is_blind(self) -> bool: ...
    def bootstrap(self) -> list[tuple[str, int]]: ...
    def reach_table(self) -> Mapping[str, str]: ...
    def node_controls(self) -> dict[int, NodeControl]: ...
    def probe(self, case_context: CaseContext, exchanger: LiveExchanger | None = None) -> DefaultTopicsProbe: ...
    def unrecorded(self, case: str) -> DefaultTopicsProbe: ...
    def tidy(self, wire: Wire) -> None: ...

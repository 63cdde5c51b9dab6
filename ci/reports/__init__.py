"""Writers: each turns the events of a run into one thing for one reader. They do not know each other.

A new file here with a `writer(state)` function is found by ci/reporter.py; nothing else lists it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection
from typing import Protocol

from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.events import RunEvent


class RunWriter(Protocol):
    """Takes every event in order; the state of the run has already taken it in."""

    def on(self, event: RunEvent) -> None: ...


def discover(state: RunState, without: Collection[str] = ()) -> dict[str, RunWriter]:
    """One writer of each kind, by the name of its file; one with LAST comes after the others."""
    modules = {info.name: importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)}
    ordered = sorted(modules, key=lambda name: getattr(modules[name], "LAST", False))
    wanted = [name for name in ordered if name not in without and hasattr(modules[name], "writer")]
    return {name: modules[name].writer(state) for name in wanted}

"""Which cases need the target to themselves: those that hurt nodes, or look at all of a cluster.

A case that hurts a node, or may, is found by what it needs. What else cannot bear company says so here, with the
reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from brokertrial.suites.capabilities import NETWORK
from brokertrial.suites.case import Case
from brokertrial.suites.probe.prerequisites import OWNERS

HURTS = frozenset(
    {
        "kill",
        "terminate",
        "pause",
        "restart",
        "settings",
        "chosen-settings",
        "logs",
        NETWORK,
        "netem",
        "bandwidth",
        "latency",
    }
)
"""Needs of a case, or of its faults, that a neighbour would feel, or that a neighbour would disturb."""
DECLARED: Mapping[str, str] = {}
"""Case -> why it runs alone."""


def why_alone(case: Case) -> str:
    """Why a case has the target to itself; empty where it may run beside others."""
    if case.id in DECLARED:
        return DECLARED[case.id]
    if case.id in OWNERS:
        return "other cases rest on what it shows"
    needs = frozenset(case.needs)
    if case.kind == "trial":
        needs |= case.function().schedule.needs()
    elif case.hurts:
        return "it may hurt nodes, or watches what they hold in memory"
    return f"it needs {', '.join(sorted(found))}" if (found := needs & HURTS) else ""

"""How long cases take: on a healthy target as it was measured, and on one that fails.

healthy_times.json is written by `python -m bench.healthy_times RUN ...` from runs in which everything passed. A case
that is not in it is estimated from what its trial asks for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

import msgspec

from brokertrial.suites.case import Case

TIMES = Path(__file__).with_name("healthy_times.json")
WIRE_S, WIRE_LIMIT_S = 0.4, 60.0
BESIDE_LOAD_S, RATE = 4.0, 500.0
"""Of a trial of which nothing is known: what it takes beside its load, and its acknowledgements a second."""
AFTERWARDS_S = 20.0
"""To read everything, to judge it, and to start a sick target anew."""
REPEATS_AT_LEAST_S = 300.0
"""What all second and third attempts of a run may take together, though the run itself takes less."""


class RepeatBudget:
    """What the second and third attempts of a run may still take: a target that decides nothing is not asked thrice."""

    def __init__(self, allowed_s: float = REPEATS_AT_LEAST_S) -> None:
        self.left_s = allowed_s

    def spend(self, seconds: float, attempt: int) -> None:
        """An attempt is over; the first costs nothing here."""
        self.left_s -= seconds if attempt > 1 else 0.0


def healthy_s(case: Case, profile: str) -> float:
    """Seconds on a healthy target."""
    if (known := measured().get(case.plain_id)) is not None:
        return known
    if case.kind == "wire":
        return WIRE_S
    trial = case.function().at_scale(profile)
    return float(max(trial.length / RATE, trial.at_least_s) + BESIDE_LOAD_S)


def limit_s(case: Case, profile: str) -> float:
    """Seconds within which a case comes to its verdict on a target that fails: load and recovery at their longest."""
    if case.kind == "wire":
        return WIRE_LIMIT_S
    trial = case.function().at_scale(profile)
    return float(trial.longest_s + trial.recovery_s + AFTERWARDS_S)


def run_limit_s(cases: Iterable[Case], profile: str) -> float:
    """The same for a run: every trial at its limit, every wire case twice as slow, and all that is tried again."""
    healthy = sum(healthy_s(case, profile) for case in cases)
    beyond = (
        healthy_s(case, profile) if case.kind == "wire" else limit_s(case, profile) - healthy_s(case, profile)
        for case in cases
    )
    return healthy + sum(beyond) + max(healthy, REPEATS_AT_LEAST_S)


def measured_in(runs: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The shortest time of each case: what a busy machine adds is not the case's."""
    shortest: dict[str, float] = {}
    for times in runs:
        for case, seconds in times.items():
            shortest[case] = min(seconds, shortest.get(case, seconds))
    return {case: round(seconds, 2) for case, seconds in sorted(shortest.items())}


def unknown(cases: Collection[Case]) -> list[str]:
    """The cases that nobody has measured."""
    return [case.id for case in cases if case.id not in measured()]


@cache
def measured() -> dict[str, float]:
    return msgspec.json.decode(TIMES.read_bytes(), type=dict[str, float])

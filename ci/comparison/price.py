"""What faults cost: longest time without an acknowledgement, time to be fast again, latency.

A multiple is made of the cases that both runs measured, and only where both ran on machines that are alike in all that
is known of them, in one profile and one version of the suite. Elsewhere there is no multiple, and a word why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from brokertrial.ci.comparison.column import Column
from brokertrial.histories.availability import FaultKindSummary, Profile, kinds

LEAST_S = 0.05
"""A gap below this is the pace of the load itself: a multiple of it says nothing."""


@dataclass(frozen=True)
class Figure:
    """One number with its multiple of the baseline's; None where there is none."""

    value: float | None
    multiple: float | None = None


@dataclass(frozen=True)
class PriceCell:
    """One kind of fault on one target."""

    summary: FaultKindSummary | None
    gap: Figure = Figure(None)
    recovery: Figure = Figure(None)


@dataclass(frozen=True)
class PriceRow:
    """One kind of fault."""

    kind: str
    cells: tuple[PriceCell, ...]


@dataclass(frozen=True)
class LoadCell:
    """What the clients of one run got under the loads of its trials, faults included: medians over the trials."""

    trials: int
    per_second: Figure
    p50_ms: Figure
    p99_ms: Figure
    p999_ms: Figure
    longest_gap_s: Figure


@dataclass(frozen=True)
class Prices:
    """All of it, and against which column."""

    baseline: Column | None
    loads: tuple[LoadCell | None, ...]
    rows: tuple[PriceRow, ...]
    why_not: tuple[str, ...]
    """For each column: why its times cannot be compared with the baseline's; empty where they can."""


def prices(columns: Sequence[Column], baseline: Column | None) -> Prices:
    """Rows of faults and of load, against the baseline (the first column that measured anything, if None)."""
    base = baseline or next((column for column in columns if column.profiles), None)
    why = tuple(why_not(column, base) for column in columns)
    names = dict.fromkeys(kind.kind for column in columns for kind in kinds(column.profiles.values()))
    rows = tuple(
        PriceRow(name, tuple(_cell(name, column, base, not w) for column, w in zip(columns, why, strict=True)))
        for name in names
    )
    loads = tuple(_load(column, base, not w) for column, w in zip(columns, why, strict=True))
    return Prices(base, loads, rows, why)


def why_not(column: Column, base: Column | None) -> str:
    """Why the times of a column are no multiples of the baseline's."""
    if not column.profiles:
        return "no case measured times"
    if base is None or column is base:
        return ""
    differing = [
        what
        for what, mine, theirs in (
            ("another machine", column.machine, base.machine),
            ("another profile", column.run.profile, base.run.profile),
            ("another version of the suite", column.suite_version, base.suite_version),
            ("no case in common", bool(common(column, base)), True),
        )
        if mine != theirs
    ]
    return ", ".join(differing)


def common(column: Column, base: Column) -> list[str]:
    """The cases that both measured."""
    return [case for case in column.profiles if case in base.profiles]


def _cell(kind: str, column: Column, base: Column | None, comparable: bool) -> PriceCell:
    own = _summary(kind, column.profiles.values())
    if own is None:
        return PriceCell(None)
    gap, recovery = Figure(own.longest_gap_s), Figure(own.recovered_p50_s)
    if comparable and base is not None and column is not base:
        both = common(column, base)
        mine = _summary(kind, (column.profiles[case] for case in both))
        theirs = _summary(kind, (base.profiles[case] for case in both))
        if mine and theirs:
            gap = Figure(gap.value, multiple(mine.longest_gap_s, theirs.longest_gap_s))
            recovery = Figure(recovery.value, multiple(mine.recovered_p50_s, theirs.recovered_p50_s))
    return PriceCell(own, gap, recovery)


def _summary(kind: str, profiles: Iterable[Profile]) -> FaultKindSummary | None:
    return next((each for each in kinds(profiles) if each.kind == kind), None)


def multiple(mine: float | None, theirs: float | None, least: float = LEAST_S) -> float | None:
    """How many times the baseline's; None where either is missing or the baseline's is too small to be divided by."""
    return None if mine is None or theirs is None or theirs < least else mine / theirs


def _load(column: Column, base: Column | None, comparable: bool) -> LoadCell | None:
    if not column.profiles:
        return None
    both = common(column, base) if comparable and base is not None and column is not base else []

    def figure(value: Callable[[Profile], float], least: float = 1e-3) -> Figure:
        own = _middle(column.profiles, column.profiles, value)
        if not both or base is None:
            return Figure(own)
        mine, theirs = _middle(column.profiles, both, value), _middle(base.profiles, both, value)
        return Figure(own, multiple(mine, theirs, least))

    return LoadCell(
        len(column.profiles),
        figure(lambda profile: profile.per_second),
        figure(lambda profile: profile.p50_ms),
        figure(lambda profile: profile.p99_ms),
        figure(lambda profile: profile.p999_ms),
        figure(lambda profile: profile.longest_gap_s, LEAST_S),
    )


def _middle(profiles: Mapping[str, Profile], cases: Iterable[str], value: Callable[[Profile], float]) -> float | None:
    values = [value(profiles[case]) for case in cases]
    return median(values) if values else None

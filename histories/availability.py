"""Availability: what the clients of a history got, over time and around each fault.

One query sums the acknowledged writes up by tick (134 ms) and latency (steps of 4%), on DuckDB and on Spark alike; all
else is made from these sums, which are small however long the history is.

    gap         the longest time without an acknowledgement that touches the window, from its begin until it was healed
    recovered   from the healing until acknowledgements are fast again: the 99th percentile of the next second is at
                most twice what it was before the first window; None when that did not happen
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from brokertrial.histories.reader import History
from brokertrial.histories.windows import FaultWindow, fault_windows

TICK_NS = 1 << 27
STEPS = 25.0
FAST_AGAIN = 2.0
AHEAD = 7
"""Ticks in about a second."""

QUERY = f"""
    SELECT a.history, a.tick, a.step, COUNT(*) AS acks, MIN(a.return_ns) AS first_ns, MAX(a.return_ns) AS last_ns
    FROM (
        SELECT o.history, o.return_ns, o.return_ns >> 27 AS tick,
            CAST(FLOOR(LN(CAST(CASE WHEN o.return_ns > o.call_ns THEN o.return_ns - o.call_ns ELSE 1 END AS DOUBLE))
                * {STEPS}) AS INT) AS step
        FROM operations o
        WHERE o.kind IN ('send', 'produce') AND o.outcome = 'ok' AND o.return_ns IS NOT NULL
    ) a
    GROUP BY a.history, a.tick, a.step
    """

TickCounts = npt.NDArray[np.int64]
ProfileRow = Mapping[str, Any]


class FaultCost(msgspec.Struct, frozen=True, kw_only=True):
    """A fault window and what it cost; seconds since the case began, milliseconds for latencies."""

    window: str
    kind: str
    text: str
    begin_s: float
    healed_s: float
    gap_s: float
    recovered_s: float | None
    p99_before_ms: float | None
    p99_during_ms: float | None


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One history: acknowledged writes, their latencies, the longest time without one, each fault window."""

    acknowledged: int
    length_s: float
    per_second: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float
    longest_gap_s: float
    windows: tuple[FaultCost, ...] = ()


class FaultKindSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All windows of one kind of fault: the worst gap, and how long it took to be fast again."""

    kind: str
    windows: int
    longest_gap_s: float
    p99_gap_s: float
    recovered_p50_s: float | None
    recovered_p99_s: float | None
    not_recovered: int


class Sums:
    """The rows of QUERY for one history, in the order of time."""

    def __init__(self, rows: Iterable[ProfileRow], started_ns: int) -> None:
        """`started_ns`: where its seconds begin; a history with times of another clock begins with its first."""
        ordered = sorted(rows, key=lambda row: (row["tick"], row["step"]))
        self.start = min([started_ns, *(int(row["first_ns"]) for row in ordered[:1])])
        self.tick, self.step, self.acks, self.first, self.last = (
            np.array([int(row[name]) for row in ordered], dtype=np.int64)
            for name in ("tick", "step", "acks", "first_ns", "last_ns")
        )

    def percentile(self, share: float, begin_ns: int | None = None, end_ns: int | None = None) -> float | None:
        """A percentile of the latencies acknowledged in ticks that begin in [begin, end), in ms; None without any."""
        at = self.tick * TICK_NS
        kept = np.ones(len(at), dtype=bool)
        kept &= True if begin_ns is None else at >= begin_ns - TICK_NS
        kept &= True if end_ns is None else at < end_ns
        return _percentile(self.step[kept], self.acks[kept], share)

    def gaps(self, until_ns: int | None = None) -> list[tuple[int, int]]:
        """Times between ticks without an acknowledgement, as (from, to); the end of the history ends the last one."""
        ticks, place = np.unique(self.tick, return_index=True)
        if not len(ticks):
            return []
        first, last = np.minimum.reduceat(self.first, place), np.maximum.reduceat(self.last, place)
        ends = [*(int(each) for each in first[1:]), max(until_ns or 0, int(last[-1]))]
        return list(zip((int(each) for each in last), ends, strict=True))


def profile(rows: Iterable[ProfileRow], history: History) -> Profile | None:
    """The profile of one history from its rows of QUERY; None when nothing was acknowledged."""
    sums = Sums(rows, history.title.started_ns)
    if not len(sums.tick):
        return None
    windows = fault_windows(history.rows("events"), history.header.schedule)
    begin, end = int(sums.first.min()), int(sums.last.max())
    length = max((end - begin) / 1e9, 1e-9)
    calm = min((window.begin_ns for window in windows), default=None)
    usual = sums.percentile(0.99, None, calm)
    gaps = sums.gaps()
    return Profile(
        acknowledged=int(sums.acks.sum()),
        length_s=length,
        per_second=float(sums.acks.sum()) / length,
        p50_ms=sums.percentile(0.5) or 0.0,
        p90_ms=sums.percentile(0.9) or 0.0,
        p99_ms=sums.percentile(0.99) or 0.0,
        p999_ms=sums.percentile(0.999) or 0.0,
        longest_gap_s=max((to - since for since, to in gaps), default=0) / 1e9,
        windows=tuple(_cost(sums, each, usual) for each in windows),
    )


def kinds(profiles: Iterable[Profile]) -> list[FaultKindSummary]:
    """Windows by kind of fault, the worst first."""
    found: dict[str, list[FaultCost]] = {}
    for each in profiles:
        for window in each.windows:
            found.setdefault(window.kind, []).append(window)
    return sorted((_kind(name, windows) for name, windows in found.items()), key=lambda kind: -kind.longest_gap_s)


def _kind(name: str, windows: Sequence[FaultCost]) -> FaultKindSummary:
    times = [window.recovered_s for window in windows if window.recovered_s is not None]
    gaps = [window.gap_s for window in windows]
    return FaultKindSummary(
        kind=name,
        windows=len(windows),
        longest_gap_s=max(gaps),
        p99_gap_s=float(np.percentile(gaps, 99)),
        recovered_p50_s=float(np.percentile(times, 50)) if times else None,
        recovered_p99_s=float(np.percentile(times, 99)) if times else None,
        not_recovered=len(windows) - len(times),
    )


def _cost(sums: Sums, window: FaultWindow, usual: float | None) -> FaultCost:
    begin, healed = window.begin_ns, window.end_ns
    touching = [to - since for since, to in sums.gaps(healed) if since < healed and to > begin]
    recovered = _recovered(sums, healed, usual)
    return FaultCost(
        window=window.id,
        kind=window.kind,
        text=window.text or window.id,
        begin_s=(begin - sums.start) / 1e9,
        healed_s=(healed - sums.start) / 1e9,
        gap_s=max(touching, default=0) / 1e9,
        recovered_s=None if recovered is None else max(0, recovered - healed) / 1e9,
        p99_before_ms=usual,
        p99_during_ms=sums.percentile(0.99, begin, healed),
    )


def _recovered(sums: Sums, healed: int, usual: float | None) -> int | None:
    """When the acknowledgements of the second that follows are fast again; any will do where there is no before."""
    for tick, first in zip(sums.tick.tolist(), sums.first.tolist(), strict=True):
        if first < healed:
            continue
        kept = (sums.tick >= tick) & (sums.tick < tick + AHEAD)
        slow = _percentile(sums.step[kept], sums.acks[kept], 0.99)
        if usual is None or (slow is not None and slow <= usual * FAST_AGAIN):
            return int(sums.first[sums.tick == tick].min())
    return None


def _percentile(step: TickCounts, acks: TickCounts, share: float) -> float | None:
    if not len(step):
        return None
    order = np.argsort(step, kind="stable")
    reached = np.cumsum(acks[order])
    place = int(np.searchsorted(reached, share * reached[-1]))
    return float(np.exp((step[order][min(place, len(order) - 1)] + 0.5) / STEPS) / 1e6)


def series(sums: Sums, buckets: int, length_s: float) -> tuple[list[float], list[float], list[float]]:
    """Acknowledgements a second, median and 99th percentile in ms (NaN without any) in equal buckets of time."""
    edges = np.linspace(0.0, max(length_s, 1e-9), buckets + 1)
    at = np.clip((sums.tick * TICK_NS + TICK_NS // 2 - sums.start) / 1e9, 0.0, length_s)
    bucket = np.clip(np.digitize(at, edges) - 1, 0, buckets - 1)
    rate = np.bincount(bucket, weights=sums.acks, minlength=buckets) / (edges[1] - edges[0])
    both: list[list[float]] = [[], []]
    for number in range(buckets):
        kept = bucket == number
        for values, share in zip(both, (0.5, 0.99), strict=True):
            found = _percentile(sums.step[kept], sums.acks[kept], share)
            values.append(float("nan") if found is None else found)
    return rate.tolist(), both[0], both[1]


def by_history(rows: Iterable[ProfileRow]) -> dict[int, list[ProfileRow]]:
    """The rows of QUERY, apart."""
    apart: dict[int, list[ProfileRow]] = {}
    for row in rows:
        apart.setdefault(row["history"], []).append(row)
    return apart

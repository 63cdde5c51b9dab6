"""The timeline picture of a trial as inline SVG: acknowledgements a second and their latency, fault windows shaded.

Read from the case's history alone, so a report can be drawn again at any time. Colours are CSS classes of the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np
import numpy.typing as npt

from brokertrial.ci.reports.fault_words import worded
from brokertrial.histories.availability import QUERY, TICK_NS, Profile, ProfileRow, Sums, profile, series
from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History
from brokertrial.suites.probe.naming import shortening_of

WIDTH, LEFT, RIGHT = 880.0, 54.0, 12.0
TOP, PANEL, GAP, AXIS = 26.0, 78.0, 20.0, 22.0
HEIGHT = TOP + 2 * PANEL + GAP + AXIS
BUCKETS = 120
LATENCY = 'latency in ms: <tspan class="of-median">median</tspan>, <tspan class="of-slow">99th percentile</tspan>'
FEWEST = 20
"""Acknowledged writes that are worth a picture."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shade:
    """One fault window, in seconds since the case began."""

    begin: float
    end: float
    text: str


@dataclass(frozen=True)
class Series:
    """What the picture shows: one value a bucket; latencies are NaN where nothing was acknowledged."""

    length_s: float
    rate: Floats
    median_ms: Floats
    slow_ms: Floats
    shades: tuple[Shade, ...] = field(default=())


def timeline(folder: Path) -> str:
    """The picture, or an empty text for a case that drove no load."""
    from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine  # a run without faults needs none

    try:
        history = History.open(folder, allow_incomplete=True)
        with DuckDBEngine.over([history]) as duck:
            rows = list(duck.ask(QUERY))
        return load_picture(rows, history, profile(rows, history))
    except (HistoryRefused, OSError, ValueError):
        return ""


def load_picture(rows: Iterable[ProfileRow], history: History, profile: Profile | None) -> str:
    """The picture of a history from its availability sums; empty where too little was acknowledged to be drawn."""
    if profile is None or profile.acknowledged < FEWEST:
        return ""
    sums, short = Sums(rows, history.title.started_ns), shortening_of(history)
    buckets, length = slots(max([float((sums.last.max() - sums.start) / 1e9), *(w.healed_s for w in profile.windows)]))
    rate, median, slow = (np.array(values) for values in series(sums, buckets, length))
    shades = (Shade(w.begin_s, w.healed_s, short(f"fault {w.window} {worded(w.text)}")) for w in profile.windows)
    return draw(Series(length, rate, median, slow, tuple(shades)))


def slots(length_s: float) -> tuple[int, float]:
    """At most BUCKETS slots that cover so many seconds, and how many these are: each slot is as long as some whole
    number of the ticks that a profile is summed up by, since rates would jump up and down if one had more ticks."""
    tick_s = TICK_NS / 1e9
    slot_s = max(1, math.ceil(length_s / BUCKETS / tick_s)) * tick_s
    count = max(1, math.ceil(length_s / slot_s))
    return count, count * slot_s


def draw(series: Series) -> str:
    """The SVG itself."""
    return "".join(_draw(series))


def _draw(series: Series) -> Iterator[str]:
    scale = (WIDTH - LEFT - RIGHT) / series.length_s
    lower = TOP + PANEL + GAP
    yield f'<svg class="timeline" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
    yield f'aria-label="Throughput and latency over {series.length_s:.0f} seconds">'
    for number, shade in enumerate(series.shades):
        yield from _shade(shade, number, scale)
    top = _top(series.rate)
    yield from _panel(TOP, "acknowledged / s", _linear_ticks(top), _area(series.rate, TOP, top))
    highest = float(np.nanmax(series.slow_ms))
    lowest = max(0.05, float(np.nanmin(series.median_ms)))
    yield from _panel(lower, LATENCY, _log_ticks(lowest, highest), _latencies(series, lower, lowest, highest))
    yield from _seconds(series.length_s, scale, lower + PANEL)
    yield "</svg>"


def _shade(shade: Shade, number: int, scale: float) -> Iterator[str]:
    x, width = LEFT + shade.begin * scale, max(1.5, (shade.end - shade.begin) * scale)
    text = f"{shade.text}: {shade.begin:.1f} s to {shade.end:.1f} s"
    yield f'<rect class="window" x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{2 * PANEL + GAP}">'
    yield f"<title>{escape(text)}</title></rect>"
    if number < 12:
        side = f'x="{x:.1f}"' if x < WIDTH - 260 else f'x="{x + width:.1f}" text-anchor="end"'
        yield f'<text class="fault" {side} y="{TOP - 5 - 10 * (number % 2):.1f}">{escape(shade.text)}</text>'


def _panel(top: float, title: str, ticks: list[tuple[float, str]], content: str) -> Iterator[str]:
    for height, label in ticks:
        y = top + PANEL * (1 - height)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 3:.1f}" text-anchor="end">{label}</text>'
    yield content
    yield f'<text class="title" x="{LEFT + 4}" y="{top + 10}">{title}</text>'


def _top(rate: Floats) -> float:
    """The rate at the top of the picture: a single burst may leave it, so that the rest can be seen."""
    usual = float(np.percentile(rate, 97)) * 1.2
    return float(rate.max()) if usual * 3 > float(rate.max()) or usual == 0 else usual


def _area(values: Floats, top: float, highest: float) -> str:
    heights = [min(1.0, float(value) / highest) for value in values]
    points = [f"{x:.1f},{top + PANEL * (1 - height):.1f}" for x, height in zip(_xs(len(values)), heights, strict=True)]
    base = f"{top + PANEL:.1f}"
    return f'<path class="rate" d="M{LEFT},{base} L{" L".join(points)} L{WIDTH - RIGHT},{base} Z"/>'


def _latencies(series: Series, top: float, lowest: float, highest: float) -> str:
    lines = []
    for name, values in (("slow", series.slow_ms), ("median", series.median_ms)):
        runs, pen = [], "M"
        for x, value in zip(_xs(len(values)), values, strict=True):
            if np.isnan(value):
                pen = "M"
                continue
            y = top + PANEL * (1 - _log_height(float(value), lowest, highest))
            runs.append(f"{pen}{x:.1f},{y:.1f}" + ("h0.1" if pen == "M" else ""))
            pen = "L"
        label = "99th percentile" if name == "slow" else "median"
        lines.append(f'<path class="{name}" d="{" ".join(runs)}"><title>{label}</title></path>')
    return "".join(lines)


def _seconds(length: float, scale: float, y: float) -> Iterator[str]:
    step = next(step for step in (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 3600, 1e9) if length / step <= 10)
    for number in range(int(length / step) + 1):
        at = number * step
        yield f'<text x="{LEFT + at * scale:.1f}" y="{y + 14:.1f}" text-anchor="middle">{at:g} s</text>'


def _xs(buckets: int) -> list[float]:
    width = (WIDTH - LEFT - RIGHT) / buckets
    return [LEFT + (number + 0.5) * width for number in range(buckets)]


def _linear_ticks(highest: float) -> list[tuple[float, str]]:
    return [(0.0, "0"), (1.0, f"{highest:,.0f}" if highest < 1e6 else f"{highest / 1e6:,.1f} M")]


def _log_ticks(lowest: float, highest: float) -> list[tuple[float, str]]:
    powers = [10.0**power for power in range(-1, 7) if lowest <= 10.0**power <= highest]
    return [(_log_height(power, lowest, highest), f"{power:g}") for power in powers] or [
        (_log_height(highest, lowest, highest), f"{highest:.2g}")
    ]


def _log_height(value: float, lowest: float, highest: float) -> float:
    if highest <= lowest:
        return 0.5
    height = float(np.log(max(value, lowest) / lowest) / np.log(highest / lowest))
    return min(1.0, max(0.0, height))

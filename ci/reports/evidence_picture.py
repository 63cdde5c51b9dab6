"""The picture of a proof as inline SVG: a lane a client, a bar a call, faults shaded, the proving calls marked.

Time runs to the right in the order in which things happened, not to scale. The SVG brings its own colours, light and
dark and for paper, and takes those of the page around it where that has them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from brokertrial.ci.reports.evidence import EvidenceTimeline, TimelineEntry, TimelineFault

WIDTH, LEFT, RIGHT, TOP = 940.0, 132.0, 18.0, 44.0
TRACK, BAR, AXIS = 42.0, 13.0, 24.0
LETTER = 6.1
"""Width of a letter of a label, about."""
MOST = 40
"""Bars of one picture: more cannot be read."""
LONGEST = 60

STYLE = """
svg.proof{--i:var(--ink,#1f2328);--q:var(--quiet,#646b73);--l:var(--line,#e3e0da);--f:var(--fail,#b3261e);
--b:var(--rate,#2f6f9f);--w:var(--window,#c0563b);--c:var(--card,#fff);display:block;width:100%;height:auto}
svg.proof text{font:11px system-ui,"Segoe UI","DejaVu Sans",sans-serif;fill:var(--i)}
svg.proof .lane,svg.proof .at{fill:var(--q)}svg.proof .fault{fill:var(--w);font-size:10px}svg.proof .at{font-size:9.5px}
svg.proof .row{stroke:var(--l)}svg.proof .tick{stroke:var(--l);stroke-dasharray:2 3}
svg.proof .window{fill:var(--w);fill-opacity:.13}svg.proof .label{paint-order:stroke;stroke:var(--c);stroke-width:3px}
svg.proof rect.call{fill:var(--b);fill-opacity:.35;stroke:var(--b)}
svg.proof rect.info{stroke-dasharray:4 3;fill-opacity:.12}
svg.proof rect.fail{fill:none;stroke-dasharray:1 3}svg.proof rect.proves{fill:var(--f);stroke:var(--f);stroke-width:2}
svg.proof .proves.label{fill:var(--f);font-weight:600}svg.proof .open{stroke:var(--b);stroke-dasharray:4 3}
@media(prefers-color-scheme:dark){svg.proof{--i:var(--ink,#e4e6e8);--q:var(--quiet,#9aa1a9);--l:var(--line,#32363c);
--f:var(--fail,#ff8a80);--b:var(--rate,#6aa9d8);--w:var(--window,#e08a6f);--c:var(--card,#1d2024)}}
@media print{svg.proof{--i:#000;--q:#444;--l:#ccc;--f:#b3261e;--b:#2f6f9f;--w:#c0563b;--c:#fff}}
"""


@dataclass(frozen=True)
class PlacedEntry:
    """A line with its place: from `x` to `right`, on a track of its lane."""

    line: TimelineEntry
    x: float
    right: float
    track: int
    label: str
    label_x: float

    @property
    def until(self) -> float:
        """Where the next on its track may begin."""
        return max(self.right, self.label_x + LETTER * len(self.label)) + 6


def draw(proof: EvidenceTimeline) -> str:
    """The SVG, or an empty text where nothing has a time."""
    lines = [line for line in _chosen(proof.lines) if line.begin is not None]
    return "".join(_draw(proof, lines)) if lines else ""


def _chosen(lines: Sequence[TimelineEntry]) -> Sequence[TimelineEntry]:
    """All of them, or those around what proves it."""
    if len(lines) <= MOST:
        return lines
    proving = [number for number, line in enumerate(lines) if line.proves] or [0]
    nearest = sorted(range(len(lines)), key=lambda number: min(abs(number - each) for each in proving))
    return [lines[number] for number in sorted(nearest[:MOST])]


def _draw(proof: EvidenceTimeline, lines: Sequence[TimelineEntry]) -> Iterator[str]:
    scale = _Scale(lines)
    lanes = _lanes(lines, scale)
    tops, height = {}, TOP
    for name, placed in lanes.items():
        tops[name] = height
        height += TRACK * (1 + max(each.track for each in placed))
    yield f'<svg class="proof" viewBox="0 0 {WIDTH:.0f} {height + AXIS:.0f}" role="img" '
    yield f'aria-label="{escape(proof.anomaly.name)}: who did what, in the order of time"><style>{STYLE}</style>'
    if proof.place:
        yield f'<text class="lane" x="4" y="13">{escape(proof.place)}</text>'
    for number, window in enumerate(proof.windows):
        yield from _window(window, number, scale, height)
    yield from _axis(proof, scale, height)
    for name, placed in lanes.items():
        yield from _lane(name, placed, tops[name])
    yield f'<line class="row" x1="0" x2="{WIDTH}" y1="{height:.1f}" y2="{height:.1f}"/></svg>'


class _Scale:
    """From a moment to a place: every moment at which something happened is as far from the next as any other."""

    def __init__(self, lines: Sequence[TimelineEntry]) -> None:
        self.moments = sorted({at for line in lines for at in (line.begin, line.end) if at is not None})
        self._step = (WIDTH - LEFT - RIGHT) / len(self.moments)

    def x(self, at: int) -> float:
        """A moment between two others lies between them."""
        after = bisect_left(self.moments, at)
        if after < len(self.moments) and self.moments[after] == at:
            return LEFT + after * self._step
        return LEFT + max(0.0, after - 0.5) * self._step

    @property
    def end(self) -> float:
        return WIDTH - RIGHT


def _lanes(lines: Sequence[TimelineEntry], scale: _Scale) -> Mapping[str, list[PlacedEntry]]:
    """Lanes in the order in which they first appear; in each, what would lie over another gets a track of its own."""
    lanes: dict[str, list[PlacedEntry]] = {}
    for line in lines:
        assert line.begin is not None
        placed = lanes.setdefault(line.lane, [])
        x = scale.x(line.begin)
        right = max(x + 8, scale.end if line.end is None else scale.x(line.end))
        label = _label(line)
        label_x = max(0.0, min(x, WIDTH - LETTER * len(label) - 4))
        new = PlacedEntry(line, x, right, 0, label, label_x)
        taken = {each.track for each in placed if each.until > min(x, label_x)}
        track = next(number for number in range(len(placed) + 1) if number not in taken)
        placed.append(replace(new, track=track))
    return lanes


def _label(line: TimelineEntry) -> str:
    text = (f"op {line.op} " if line.proves else "") + f"{line.what} {line.short or line.text}"
    text += f" ({line.outcome})" if line.outcome not in ("ok", "") else ""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _lane(name: str, placed: Sequence[PlacedEntry], top: float) -> Iterator[str]:
    yield f'<line class="row" x1="0" x2="{WIDTH}" y1="{top:.1f}" y2="{top:.1f}"/>'
    short = name if len(name) <= 20 else name[:19] + "…"
    yield f'<text class="lane" x="4" y="{top + 30:.1f}">{escape(short)}<title>{escape(name)}</title></text>'
    for each in placed:
        yield from _bar(each, top + TRACK * each.track)


def _bar(placed: PlacedEntry, top: float) -> Iterator[str]:
    line, y, width = placed.line, top + 20, placed.right - placed.x
    kind = " proves" if line.proves else f" {line.outcome}" if line.outcome in ("info", "fail") else ""
    title = f"{line.what} {line.text} {line.outcome}" + (f" (op {line.op})" if line.op is not None else "")
    yield f"<g><title>{escape(title)}</title>"
    yield f'<rect class="call{kind}" x="{placed.x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" rx="2"/>'
    if line.end is None:
        yield f'<line class="open" x1="{placed.right:.1f}" x2="{WIDTH}" y1="{y + BAR / 2:.1f}" y2="{y + BAR / 2:.1f}"/>'
    yield f'<text class="label{" proves" if line.proves else ""}" x="{placed.label_x:.1f}" y="{y - 5:.1f}">'
    yield f"{escape(placed.label)}</text></g>"


def _window(window: TimelineFault, number: int, scale: _Scale, height: float) -> Iterator[str]:
    begin, end = scale.moments[0], scale.moments[-1]
    x = LEFT - 8 if window.begin <= begin else scale.x(window.begin)
    right = scale.end if window.end >= end else scale.x(window.end)
    y = TOP - 6 - 10 * (number % 2)
    size = f'width="{max(2.0, right - x):.1f}" height="{height - TOP + 4:.1f}"'
    yield f'<rect class="window" x="{x:.1f}" y="{TOP - 4}" {size}>'
    yield f"<title>{escape(window.text)}</title></rect>"
    if number < 6:
        side = f'x="{x:.1f}"' if x < WIDTH / 2 else f'x="{right:.1f}" text-anchor="end"'
        yield f'<text class="fault" {side} y="{y:.1f}">{escape(window.text[:80])}</text>'


def _axis(proof: EvidenceTimeline, scale: _Scale, height: float) -> Iterator[str]:
    """The moments, with their times as far as there is room."""
    free, first = 0.0, scale.moments[0]
    for at in scale.moments:
        x = scale.x(at)
        yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height:.1f}"/>'
        text = f"{(at - proof.started_ns) / 1e9:.3f} s" if at == first else f"+{_span(at - first)}"
        if x >= free:
            yield f'<text class="at" x="{x:.1f}" y="{height + 14:.1f}">{text}</text>'
            free = x + 5.6 * len(text) + 8


def _span(ns: int) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns} ns"

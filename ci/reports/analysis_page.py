"""The report of `brokertrial analyze`: one file, offline, with the plots of every history that drove load."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from markupsafe import Markup

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.ci.reports.cards import KINDS
from brokertrial.ci.reports.informational import MEANING
from brokertrial.ci.reports.report import environment, style
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.ci.reports.timeline import load_picture

if TYPE_CHECKING:  # every writer is imported by every run, and PySpark is an extra
    from brokertrial.spark_analysis.job import HistoryResult, JobResult
    from brokertrial.spark_analysis.results import Results

ROW, LEFT, WIDTH = 26, 150, 880
PLOTS = 200
"""Histories with a plot of their own; the tables hold all."""


def page(outcome: JobResult, results: Results) -> str:
    """The whole page."""
    order = list(KINDS)
    pairs = sorted(zip(results.cases, outcome.found, strict=True), key=lambda pair: order.index(pair[0].verdict))
    return (
        environment()
        .get_template("analysis.html.j2")
        .render(
            results=results,
            rows=[
                {
                    "case": case,
                    "mark": KINDS[case.verdict][0],
                    "word": KINDS[case.verdict][1],
                    "plot": Markup(plot(found)) if number < PLOTS else "",
                    "proofs": [(anomaly, Markup(certificate(anomaly, found))) for anomaly in case.anomalies[:5]],
                }
                for number, (case, found) in enumerate(pairs)
            ],
            counts=[(KINDS[kind], sum(case.verdict == kind for case in results.cases)) for kind in order],
            permitted_meaning=MEANING,
            version=suite_version(),
            style=style(),
        )
    )


def plot(found: HistoryResult) -> str:
    """Acknowledgements a second and their latencies over time, with the fault windows; empty without any."""
    return load_picture(found.sums, found.opened.history, found.profile)


def certificate(anomaly: Anomaly, found: HistoryResult) -> str:
    """The two or three operations that prove an anomaly, each a bar from its call to its return."""
    rows = [found.operations[op] for op in anomaly.operations if op in found.operations]
    if not rows:
        return ""
    start = min(row["call_ns"] for row in rows)
    end = max(row["return_ns"] or row["call_ns"] for row in rows)
    scale = (WIDTH - LEFT - 220) / max(1, end - start)
    lines = [f'<svg class="timeline" viewBox="0 0 {WIDTH} {ROW * len(rows) + 8}" role="img" aria-label="certificate">']
    for number, row in enumerate(rows):
        top, x = number * ROW + 6, LEFT + (row["call_ns"] - start) * scale
        width = max(3.0, ((row["return_ns"] or end) - row["call_ns"]) * scale)
        # the place comes last: the sentence above names it, and there may be no room for a long one
        text = f"{row['kind']} {_offset(row['base_offset'])}{row['outcome']}, {row['topic']}-{row['partition']}"
        lines.append(f'<text x="0" y="{top + 12}">op {row["op"]}  {escape(str(row["client"]))}</text>')
        lines.append(f'<rect class="rate" x="{x:.1f}" y="{top}" width="{width:.1f}" height="{ROW - 10}"/>')
        lines.append(f'<text x="{x + width + 6:.1f}" y="{top + 12}">{escape(text)}</text>')
    return "".join([*lines, "</svg>"])


def _offset(base: int | None) -> str:
    return "" if base is None else f"at {base} "

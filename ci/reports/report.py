"""report.html: one file that works offline, for the person who has to believe or to dispute a verdict.

It exists from the first failure on, so that an interrupted or killed run has one too; at the end it is written at once,
and again when counterexamples and timelines are there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import informational
from brokertrial.ci.reports.cards import KINDS, Card, by_harm, cards_of, cause_cards
from brokertrial.ci.reports.case_views import CaseViews
from brokertrial.ci.reports.causes import Cause, causes
from brokertrial.ci.reports.guarantee_rows import guarantee_areas
from brokertrial.ci.reports.known_failures import NAME as KNOWN_FAILURES
from brokertrial.ci.reports.left_out import is_named
from brokertrial.ci.reports.run_state import RunState, host, suite_version
from brokertrial.suites.events import CaseFinished, RunEvent, RunFinished
from brokertrial.suites.exit_status import ExitStatus

TEMPLATES = Path(__file__).parent / "templates"
EVERY_S = 10.0
"""Between two reports of a run that is under way."""


class ReportWriter:
    """Computes what the page shows, and writes it."""

    def __init__(self, state: RunState, clock: Callable[[], float] = time.monotonic) -> None:
        self._state = state
        self._views = CaseViews(state)
        self._clock = clock
        self._not_before = 0.0

    def on(self, event: RunEvent) -> None:
        if isinstance(event, CaseFinished):
            self._views.quick(event.result)
            if event.result.verdict is Verdict.FAIL and self._clock() >= self._not_before:
                self._write()
                self._not_before = self._clock() + EVERY_S
        elif isinstance(event, RunFinished):
            self._write()
            self._views.complete()
            self._write()

    def _write(self) -> None:
        path = self._state.folder / "report.html"
        fresh = path.with_suffix(".new")
        fresh.write_text(render(self._state, self._views), encoding="utf-8")
        fresh.replace(path)


def writer(state: RunState) -> ReportWriter:
    return ReportWriter(state)


@cache
def environment() -> Environment:
    """Templates, with what they call; each is compiled once."""
    made = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    made.filters["figure"] = _figure
    return made


def style() -> Markup:
    return Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))


def render(state: RunState, views: CaseViews) -> str:
    """The whole page, with the views that there are."""
    tally = state.tally
    cards = cards_of(state, tally, views)
    failed, warned = causes(tally.failed, state.results), causes(tally.warned, state.results)
    by_case = {card.result.case: card for card in cards}
    failures = cause_cards(failed, 1, by_case)
    warnings = cause_cards(warned, len(failed) + 1, by_case)
    run, end = state.run, state.end
    return environment().get_template("report.html.j2").render(
        style=style(),
        script=Markup((TEMPLATES / "script.js").read_text(encoding="utf-8")),
        target=run.target if run else "no target",
        verdict=_verdict(state, failed),
        sentence=tally.line() + ".",
        strip=_strip(state),
        failed=failures,
        warned=warnings,
        index=[(False, by_harm(failures)), (True, by_harm(warnings))],
        known=[card for card in cards if card.kind == "known"],
        inconclusive=[card for card in cards if card.kind == "inconclusive"],
        others=[card for card in cards if card.kind in ("pass", "not_applicable")],
        cards=cards,
        counts=_counts(cards),
        areas=guarantee_areas(cards),
        availability=views.availability,
        informational=informational.informational_findings(state.results),
        informational_meaning=informational.MEANING,
        stale=[state.known.sentence(stale) for stale in tally.stale],
        left_out=run.left_out if run else (),
        error=end.error if end else "",
        tail=end.tail if end else (),
        version=suite_version(),
        place=state.place,
        known_failures=KNOWN_FAILURES,
    )  # fmt: skip


def _counts(cards: list[Card]) -> list[tuple[str, str, str, int]]:
    kinds = [card.kind for card in cards]
    return [(kind, *KINDS[kind], kinds.count(kind)) for kind in KINDS if kind in kinds]


def _verdict(state: RunState, failed: list[Cause]) -> tuple[str, str]:
    """The class of the banner, and what it says."""
    tally = state.tally
    if tally.failed:
        count = len(tally.failed)
        roots = f"{len(failed)} cause{'s' * (len(failed) > 1)}"
        text = f"Failed: {count} case{'s' * (count > 1)}, {roots}"
        return "fail", text if state.end else f"{text} so far"
    if state.end is None:
        return "inconclusive", "Not finished"
    if state.status == ExitStatus.NOTHING_JUDGED:
        return "inconclusive", "No case was decided"
    warned = f", {len(tally.warned)} warning{'s' * (len(tally.warned) > 1)}" if tally.warned else ""
    words = {0: f"Passed: {len(tally.passed)} cases{warned}", 1: "Failed", 2: "Interrupted", 6: "Inconclusive"}
    word = words.get(state.status, state.meaning.capitalize())
    return ("pass" if state.status == 0 else "fail" if state.status == 1 else "inconclusive"), word


def _strip(state: RunState) -> list[tuple[str, str]]:
    run, machine = state.run, host()
    if run is None:
        return []
    return [
        ("target", run.target),
        ("reported version", run.target_version or "not stated"),
        ("started", f"{run.started_at[:19].replace('T', ' ')} UTC"),
        ("duration", f"{state.end.duration_s:.0f} s" if state.end else "not finished"),
        ("cases", "named by --select") if is_named(run) else ("profile", run.profile),
        *([("size of each", f"as in profile {run.profile}")] if is_named(run) else []),
        ("seed", str(run.seed)),
        ("suite", f"brokertrial {suite_version()}"),
        ("machine", f"{machine['system']}, {machine['machine']}, {machine['cores']} cores, {machine['memory']}"),
    ]


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

"""report.html: one file that works offline, for the person who has to believe or to dispute a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from checkers.verdict import Verdict
from ci.reports import informational
from ci.reports.availability import availability
from ci.reports.details import commands
from ci.reports.known import KnownFailure
from ci.reports.run_state import RunState, host, suite_version
from ci.reports.timeline import timeline
from suites.events import RunEvent, RunFinished
from suites.guarantees import Guarantee, registry
from suites.result import CaseResult, Evidence

TEMPLATES = Path(__file__).parent / "templates"
KINDS = {
    "fail": ("✗", "failed"),
    "warned": ("!", "warned"),
    "inconclusive": ("?", "inconclusive"),
    "known": ("✗", "known to fail"),
    "pass": ("✓", "passed"),
    "not_applicable": ("–", "not applicable"),
}
ATTENTION = ("fail", "warned", "inconclusive")


class ReportWriter:
    """Written once, at the end."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def on(self, event: RunEvent) -> None:
        if isinstance(event, RunFinished):
            (self._state.folder / "report.html").write_text(render(self._state), encoding="utf-8")


def writer(state: RunState) -> ReportWriter:
    return ReportWriter(state)


@dataclass(frozen=True)
class Card:
    """One case as the page shows it."""

    result: CaseResult
    kind: str
    known: list[KnownFailure]
    picture: Markup
    commands: list[str]
    proof: Markup

    @property
    def mark(self) -> str:
        return KINDS[self.kind][0]

    @property
    def word(self) -> str:
        return KINDS[self.kind][1]

    @property
    def open(self) -> bool:
        return self.kind in ATTENTION

    @property
    def anchor(self) -> str:
        return self.result.case.replace("/", ".")

    @property
    def lines(self) -> list[Evidence]:
        return [entry for entry in self.result.evidence if "\n" not in entry.text]

    @property
    def messages(self) -> list[Evidence]:
        return [entry for entry in self.result.evidence if "\n" in entry.text]

    @property
    def guarantees(self) -> list[Guarantee]:
        return [registry()[name] for name in self.result.guarantees if name in registry()]


@dataclass(frozen=True)
class GuaranteeRow:
    """One guarantee of the matrix, with the cases that decide it."""

    guarantee: Guarantee
    cards: list[Card]

    @property
    def kinds(self) -> str:
        return " ".join(sorted({card.kind for card in self.cards}))


@dataclass(frozen=True)
class GuaranteeArea:
    """The guarantees of one area; open when something in it needs a look."""

    name: str
    rows: list[GuaranteeRow]

    @property
    def open(self) -> bool:
        return any(card.open for row in self.rows for card in row.cards)

    @cached_property
    def summary(self) -> str:
        kinds = [card.kind for card in {card.anchor: card for row in self.rows for card in row.cards}.values()]
        return ", ".join(f"{kinds.count(kind)} {word}" for kind, (_, word) in KINDS.items() if kind in kinds)


def render(state: RunState) -> str:
    """The whole page."""
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters["figure"] = _figure
    cards = sorted((_card(result, state) for result in state.results), key=lambda card: list(KINDS).index(card.kind))
    kinds = [card.kind for card in cards]
    run, end = state.run, state.end
    return environment.get_template("report.html.j2").render(
        run=run or {"target": "no target"},
        sentence=state.tally.line() + ".",
        strip=_strip(state),
        cards=cards,
        counts=[(kind, *KINDS[kind], kinds.count(kind)) for kind in KINDS if kind in kinds],
        areas=_areas(cards),
        availability=availability(state),
        permitted=informational.informational_findings(state.results),
        permitted_meaning=informational.MEANING,
        stale=[state.known.sentence(stale) for stale in state.tally.stale],
        left_out=run.left_out if run else (),
        error=end.error if end else "",
        tail=end.tail if end else (),
        version=suite_version(),
        place=state.place,
        style=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
        script=Markup((TEMPLATES / "script.js").read_text(encoding="utf-8")),
    )


def _card(result: CaseResult, state: RunState) -> Card:
    tally = state.tally
    kind = result.verdict.name.lower()
    if result.verdict is Verdict.FAIL:
        kind = "known" if result in tally.known else "warned" if result in tally.warned else "fail"
    picture = timeline(state.folder / result.history) if result.history else ""
    return Card(
        result, kind, state.known.reasons(result), Markup(picture), commands(result, state.place), _proof(result, state)
    )


def _proof(result: CaseResult, state: RunState) -> Markup:
    """The first anomaly of a failed case, drawn as far as it can be within two seconds."""
    if result.verdict is not Verdict.FAIL or not result.anomalies or not result.history:
        return Markup()
    from ci.commands.explain import first_proof  # the checkers bring a database along; a green run needs none

    return Markup(first_proof(state.folder / result.history, result.anomalies[0]))


def _areas(cards: list[Card]) -> list[GuaranteeArea]:
    areas: dict[str, list[GuaranteeRow]] = {}
    for entry in registry().values():
        if deciders := [card for card in cards if entry.id in card.result.guarantees]:
            areas.setdefault(entry.area, []).append(GuaranteeRow(entry, deciders))
    return [GuaranteeArea(name, rows) for name, rows in areas.items()]


def _strip(state: RunState) -> list[tuple[str, str]]:
    run, machine = state.run, host()
    if run is None:
        return []
    return [
        ("target", run.target),
        ("reported version", run.target_version or "not stated"),
        ("date", run.started_at.replace("T", " ").removesuffix("+00:00").split(".")[0].removesuffix("Z") + " UTC"),
        ("profile", run.profile),
        ("seed", str(run.seed)),
        ("suite", f"brokertrial {suite_version()}"),
        ("machine", f"{machine['system']}, {machine['machine']}, {machine['cores']} cores, {machine['memory']}"),
        ("took", f"{state.end.duration_s:.0f} s" if state.end else "not finished"),
    ]


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

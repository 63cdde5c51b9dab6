"""Cards of report.html: one case each, ready to be shown; and causes with the cards of their cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports.case_views import CaseView, CaseViews, worst_first
from brokertrial.ci.reports.causes import Cause
from brokertrial.ci.reports.details import commands, passed_on_kafka
from brokertrial.ci.reports.excerpt import ExcerptLine, excerpt
from brokertrial.ci.reports.exchange_steps import ExchangeStep
from brokertrial.ci.reports.fault_words import worded_line
from brokertrial.ci.reports.known import KnownFailure
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.reports.shown_steps import Gap, shown
from brokertrial.ci.reports.tally import Tally
from brokertrial.suites.guarantees import Guarantee, registry
from brokertrial.suites.reasons import label
from brokertrial.suites.result import CaseResult, Evidence, Failure
from brokertrial.suites.running.run_folder import folder_name

KINDS = {
    "fail": ("✗", "failed"),
    "warned": ("!", "warning"),
    "inconclusive": ("?", "inconclusive"),
    "known": ("✗", "known failure"),
    "pass": ("✓", "passed"),
    "not_applicable": ("–", "not applicable"),
}
MESSAGES = 4
"""Decoded messages of one card that are open; the others can be opened."""
BYTES = 600
HEX = 2


@dataclass(frozen=True)
class ShownMessage:
    """A decoded request or response, cut around the field at fault."""

    entry: Evidence
    lines: list[ExcerptLine]

    @property
    def frame(self) -> str:
        """The beginning of its bytes."""
        text = self.entry.bytes_hex
        return text[: BYTES * HEX] + (f" … {len(text) // HEX:,} bytes" if len(text) > BYTES * HEX else "")


@dataclass(frozen=True)
class Card:
    """One case as the page shows it."""

    result: CaseResult
    kind: str
    known: list[KnownFailure]
    view: CaseView
    commands: list[str]

    @property
    def mark(self) -> str:
        return KINDS[self.kind][0]

    @property
    def word(self) -> str:
        return KINDS[self.kind][1]

    @property
    def anchor(self) -> str:
        return folder_name(self.result.case)

    @property
    def lines(self) -> list[Evidence]:
        """Evidence of one line each."""
        return [worded_line(entry) for entry in self.result.evidence if "\n" not in entry.text]

    @property
    def messages(self) -> list[ShownMessage]:
        """Evidence that is a decoded message."""
        return [ShownMessage(e, excerpt(e.text, e.marked)) for e in self.result.evidence if "\n" in e.text]

    @property
    def open_messages(self) -> list[ShownMessage]:
        return self.messages[:MESSAGES]

    @property
    def more_messages(self) -> list[ShownMessage]:
        return self.messages[MESSAGES:]

    @property
    def steps(self) -> list[ExchangeStep | Gap]:
        return shown(self.view.steps)

    @property
    def other_failures(self) -> tuple[Failure, ...]:
        """What else was false, where the reason names the first."""
        return () if self.result.anomalies else self.result.failures[1:]

    @property
    def anomalies(self) -> list[Anomaly]:
        """The worst first: it is the one that is minimised."""
        return worst_first(self.result.anomalies)

    @property
    def reason(self) -> str:
        """The kind of the reason in words."""
        return label(self.result.reason.kind) if self.result.reason else ""

    @property
    def kafka(self) -> str:
        """Where the case passed on Apache Kafka."""
        return passed_on_kafka(self.result)

    @property
    def guarantees(self) -> list[Guarantee]:
        return [registry()[name] for name in self.result.guarantees if name in registry()]


@dataclass(frozen=True)
class CauseCards:
    """A numbered cause with the cards of its cases; the first is shown whole."""

    number: int
    cause: Cause
    cards: list[Card]


def by_harm(groups: Sequence[CauseCards]) -> list[tuple[str, list[CauseCards]]]:
    """The causes under the headings of their harm."""
    found: dict[str, list[CauseCards]] = {}
    for group in groups:
        found.setdefault(group.cause.harm.title, []).append(group)
    return list(found.items())


def cards_of(state: RunState, tally: Tally, views: CaseViews) -> list[Card]:
    """A card a case, in the order of KINDS."""
    kinds = {id(one): kind for kind in ("known", "warned", "failed") for one in getattr(tally, kind)}
    cards = [_card(result, kinds.get(id(result), ""), state, views) for result in state.results]
    return sorted(cards, key=lambda card: list(KINDS).index(card.kind))


def cause_cards(found: Sequence[Cause], first: int, cards: Mapping[str, Card]) -> list[CauseCards]:
    """The causes with their cards, numbered from `first`."""
    return [
        CauseCards(number, cause, [cards[result.case] for result in cause.results])
        for number, cause in enumerate(found, first)
    ]


def _card(result: CaseResult, failed: str, state: RunState, views: CaseViews) -> Card:
    kind = result.verdict.name.lower()
    if result.verdict is Verdict.FAIL and failed in ("known", "warned"):
        kind = failed
    return Card(result, kind, state.known.reasons(result), views.of(result), commands(result, state.place))

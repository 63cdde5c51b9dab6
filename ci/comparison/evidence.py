"""The evidence of one case on one target: what a reader needs to believe, or to dispute, that it is not green."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.ci.comparison.column import Column
from brokertrial.ci.comparison.severity import WORDS, harm_of
from brokertrial.ci.comparison.standing import NEEDS_A_LOOK, Standing, standing_of
from brokertrial.ci.reports.case_views import worst_first
from brokertrial.ci.reports.causes import causes
from brokertrial.ci.reports.counterexample import counterexample
from brokertrial.ci.reports.details import commands, passed_on_kafka
from brokertrial.ci.reports.excerpt import ExcerptLine, excerpt
from brokertrial.ci.reports.fault_words import worded_line
from brokertrial.ci.reports.timeline import timeline
from brokertrial.suites.reasons import label
from brokertrial.suites.result import CaseResult, Evidence

BUDGET_S = 60.0
"""For all counterexamples of a site; then the cards say that `explain` makes them."""
EACH_S = 4.0
MOST_PICTURES = 1_500_000
"""Characters of all pictures together."""
LINES, MESSAGES, MESSAGE_LINES, ANOMALIES, LOG_LINES = 16, 3, 24, 3, 8
SENTENCE = 800
"""Characters of what was false: some brokers answer with 50 KB of bytes."""
LOG_COLUMNS = 240
"""Of a line of a broker's log. Whole sentences and lines are in the run."""
WORTH_A_LINK = 200
"""Characters of a log: a shorter one is said again."""
LEAST_LOG_LINES = 3
"""Of a log that warns of nothing."""
QUIET = re.compile(r"""\b(?:INFO?|DEBUG|DBG|TRACE|TRC)\b|level"?[=:] ?"?(?:info|debug|trace)\b""")
LEVEL_WITHIN = 80
"""Where in a line its level stands, with the escapes for its colours."""
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Picture:
    """What was computed of a history: SVG of our own making, and how small the counterexample is."""

    counterexample: str = ""
    size: str = ""
    timeline: str = ""


@dataclass(frozen=True)
class Message:
    """A decoded request or response, cut around the field at fault."""

    entry: Evidence
    lines: list[ExcerptLine]


@dataclass(frozen=True)
class Article:
    """One case on one target."""

    column: Column
    result: CaseResult
    picture: Picture = field(default_factory=Picture)
    log_of: str = ""
    """The case whose article shows the very same log of this target; empty where this one does."""

    @property
    def standing(self) -> Standing:
        return standing_of(self.result)

    @property
    def harm(self) -> str:
        """The harm in a word; empty where nothing failed."""
        found = harm_of(self.result)
        return WORDS[found] if found is not None else ""

    @property
    def reason(self) -> str:
        """Why, in a sentence; empty where the anomalies say it themselves."""
        reason = self.result.reason
        if reason is None or (self.result.anomalies and reason.kind == "anomaly"):
            return ""
        return f"{label(reason.kind)}: {_cut(reason.sentence, SENTENCE)}"

    @property
    def others(self) -> list[str]:
        """What else was false, where the reason names the first."""
        return [] if self.result.anomalies else [_cut(each.sentence, SENTENCE) for each in self.result.failures[1:6]]

    @property
    def anomalies(self) -> list[Anomaly]:
        return worst_first(self.result.anomalies)[:ANOMALIES]

    @property
    def more_anomalies(self) -> int:
        return max(0, len(self.result.anomalies) - ANOMALIES)

    @property
    def lines(self) -> list[Evidence]:
        """Evidence of one line each."""
        return [worded_line(entry) for entry in self.result.evidence if "\n" not in entry.text][:LINES]

    @property
    def messages(self) -> list[Message]:
        """The messages at fault: the last ones, where there are many."""
        told = [entry for entry in self.result.evidence if "\n" in entry.text][-MESSAGES:]
        return [Message(entry, excerpt(entry.text, entry.marked, MESSAGE_LINES, 6)) for entry in told]

    @property
    def log(self) -> list[str]:
        return log_of(self.result)

    @property
    def proof(self) -> str:
        """What entitles the case to accuse."""
        planted = self.result.proof.fails_with if self.result.proof else ()
        return passed_on_kafka(self.result) + (f" Detects planted bugs: {', '.join(planted)}." if planted else "")

    @property
    def commands(self) -> list[str]:
        """How to explain it, to re-check it and, last, to replay it."""
        return [" ".join(command.split()) for command in commands(self.result, self.column.place)]

    @property
    def verbs(self) -> list[str]:
        """The commands that take what `replay` takes."""
        return [command.split()[1] for command in self.commands[:-1]]

    @property
    def note(self) -> str:
        """What the vendor says of this case."""
        return self.column.notes.of_case(self.result.case)

    @property
    def counterexample(self) -> Markup:
        return Markup(self.picture.counterexample)

    @property
    def timeline(self) -> Markup:
        return Markup(self.picture.timeline)


def articles(columns: Sequence[Column], pictures: Mapping[tuple[str, str], Picture]) -> dict[str, list[Article]]:
    """Case -> its articles, a column each, where something needs a look; cases that are clean everywhere have none."""
    found: dict[str, list[Article]] = {}
    for column in columns:
        logs: dict[tuple[str, ...], str] = {}
        for case, result in column.by_case.items():
            if standing_of(result) in NEEDS_A_LOOK:
                picture = pictures.get((column.key, case), Picture())
                first = logs.setdefault(tuple(log_of(result)), case)
                found.setdefault(case, []).append(Article(column, result, picture, _elsewhere(result, first)))
    return found


def log_of(result: CaseResult) -> list[str]:
    """What the broker's log warns of, without colours; the last lines where it warns of nothing."""
    loud = [line for line in result.log_lines if not QUIET.search(COLOURS.sub("", line.text[:LEVEL_WITHIN]))]
    lines = loud[:LOG_LINES] or result.log_lines[-LEAST_LOG_LINES:]
    return [f"{line.at_s:.3f} s  node {line.node}  {_cut(COLOURS.sub('', line.text), LOG_COLUMNS)}" for line in lines]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _elsewhere(result: CaseResult, first: str) -> str:
    """Cases that ran side by side were met with the same lines, which are shown in one of them."""
    return first if first != result.case and sum(map(len, log_of(result))) > WORTH_A_LINK else ""


def pictures(
    folders: Iterable[tuple[Column, Path]],
    budget_s: float = BUDGET_S,
    clock: Callable[[], float] = time.monotonic,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[tuple[str, str], Picture]:
    """(column, case) -> counterexample and timeline of the failed trials: the first of each cause, the worst first."""
    deadline, room = clock() + budget_s, MOST_PICTURES
    made: dict[tuple[str, str], Picture] = {}
    for column, folder in folders:
        failed = [result for result in column.results if result.anomalies and result.history]
        firsts = [cause.results[0] for cause in causes([each for each in failed if harm_of(each) is not None])]
        for result in firsts:
            if (left_s := deadline - clock()) <= 0 or room <= 0:
                made[column.key, result.case] = Picture(
                    size="Not computed here, for want of time: see `explain` below."
                )
                continue
            tell(f"{column.place}: counterexample of {result.case}")
            found = counterexample(folder / result.history, worst_first(result.anomalies)[0], min(left_s, EACH_S))
            picture = Picture(found.picture, found.size, timeline(folder / result.history))
            room -= len(picture.counterexample) + len(picture.timeline)
            made[column.key, result.case] = picture
    return made

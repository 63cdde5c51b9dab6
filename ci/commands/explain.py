"""`brokertrial explain`: one anomaly with its guarantee and minimal counterexample, or a case of single requests."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import click
from markupsafe import Markup

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.check import all_checks
from brokertrial.checkers.judge import judge
from brokertrial.checkers.linearizability.crosscheck import CrossCheck, cross_checks
from brokertrial.checkers.minimise.minimum import Minimum, NotMinimised
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.commands.explain_exchanges import explain_exchanges
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports.counterexample import smallest
from brokertrial.ci.reports.evidence import EvidenceTimeline, TimelineEntry, evidence_timeline
from brokertrial.ci.reports.evidence_picture import draw
from brokertrial.ci.reports.report import environment, style
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.ci.run_location import RunLocation, find
from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History
from brokertrial.suggestion import nearest
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.guarantees import Guarantee, registry
from brokertrial.suites.probe.naming import shortening_of
from brokertrial.suites.running.run_folder import HISTORIES, folder_name, history_names
from brokertrial.suites.situations.pairs import case_named

PATIENCE_S = 60.0
"""How long a history is minimised; then the smallest part so far is shown."""
INDENT = "  "
ATTRIBUTION = {
    "broker": "broker",
    "client": "client (not a broker failure)",
    "unknown": "unknown from this history (not counted against the broker)",
}
NOT_COUNTED = "not counted against the broker"


class FoundAnomaly(NamedTuple):
    """An anomaly of a history."""

    anomaly: Anomaly
    judged: bool
    """Whether the checks look for it; else it is listed, and the settings permit it."""
    counts: bool
    """Whether it is one of those that fail the case."""

    @property
    def note(self) -> str:
        if self.counts:
            return ""
        return f"  ({NOT_COUNTED if self.judged else 'informational'})"


def explain(text: str, which: str | None, html: Path | None = None, listed: bool = False) -> int:
    """Explains one anomaly and writes its page: by default the first. `listed`: a line for each instead.

    A case of single requests is explained whole; `which` then numbers an exchange.
    """
    place = find(text)
    history = _history(place, text)
    if (case := case_named(history.header.case)) is not None and case.kind == "wire":
        page = _page_of(html, place, history, "")
        explain_exchanges(text, history, which, page)
        return ExitStatus.PASSED
    found = _anomalies(history)
    if listed or (which is None and not any(one.counts for one in found)):
        _list(text, found)
        return ExitStatus.PASSED
    number = chosen(which or "1", [one.anomaly for one in found])
    explanation = Explanation(text, history, found[number], number + 1, len(found))
    page = _page_of(html, place, history, f"-{number + 1}")
    drawing = page.with_name(f"{page.stem}-porcupine.html")
    explanation.cross_check(drawing)
    _write(page, explanation.page())
    click.echo(explanation.text())
    click.echo(f"Page\n{INDENT}{page}")
    if explanation.drawn is not None:
        click.echo(f"{INDENT}{explanation.drawn}  (Porcupine visualisation)")
    if which is None and len(found) > 1:
        click.echo(f"\n{counted(found)}\n{INDENT}brokertrial explain {text} --list\n{INDENT}{_one_of(text)}")
    return ExitStatus.PASSED


def _page_of(html: Path | None, place: RunLocation, history: History, number: str) -> Path:
    page = html or _beside(place, history) / f"explain-{history.header.case.replace('/', '.')}{number}.html"
    if not page.parent.is_dir():
        raise UserError(f"{page} cannot be written: there is no folder {page.parent}.")
    return page


def chosen(which: str, anomalies: Sequence[Anomaly]) -> int:
    """The place in the list of the anomaly that a number (from 1) or a name stands for."""
    if not anomalies:
        raise UserError("this case shows no anomaly, so that there is nothing to explain.")
    if which.isdecimal():
        if not 1 <= int(which) <= len(anomalies):
            raise UserError(f"there is no anomaly {which}: the case shows {len(anomalies)}, counted from 1.")
        return int(which) - 1
    names = [anomaly.name for anomaly in anomalies]
    if which not in names:
        raise UserError(
            f"this case shows no `{which}`; it shows {', '.join(sorted(set(names)))}.", nearest(which, names)
        )
    return names.index(which)


def _history(place: RunLocation, text: str) -> History:
    folder = place.history
    if place.run is not None:
        cases = history_names(place.run)
        if place.case is None:
            raise UserError(f"name a case of {text}: RUN/CASE.", f"It has {', '.join(cases) or 'no histories'}.")
        name = folder_name(place.case)
        folder = place.run / HISTORIES / name
        if not folder.is_dir():
            raise UserError(f"{place.run} has no history of `{place.case}`.", nearest(name, cases))
    assert folder is not None
    try:
        return History.open(folder, allow_incomplete=True)
    except HistoryRefused as refused:
        raise UserError(str(refused)) from None


def _anomalies(history: History) -> list[FoundAnomaly]:
    """What the history shows: first what the verdict rests on."""
    case = case_named(history.header.case)
    judgement = judge(history)
    if case is None:
        found = [FoundAnomaly(one, True, one.attribution == "broker") for one in judgement.anomalies]
        found.sort(key=lambda one: not one.counts)
    else:
        from brokertrial.suites.trials.verdict import judged

        outcome = judged(case, history)
        failed = outcome.verdict is Verdict.FAIL
        found = [FoundAnomaly(one, True, failed) for one in outcome.anomalies]
        found += [FoundAnomaly(one, True, False) for one in judgement.anomalies if one not in outcome.anomalies]
    found += [FoundAnomaly(one, False, False) for one in judgement.permitted]
    short = shortening_of(history)
    return [one._replace(anomaly=short.anomaly(one.anomaly)) for one in found]


def _list(text: str, found: Sequence[FoundAnomaly]) -> None:
    for number, one in enumerate(found, start=1):
        click.echo(f"{number:>4}  {one.anomaly.name}{one.note}  [{one.anomaly.guarantee}]  {one.anomaly.sentence}")
    click.echo(f"{counted(found)} Explain one: {_one_of(text)}" if found else "No anomaly.")


def _one_of(text: str) -> str:
    return f"brokertrial explain {text} NUMBER"


def counted(found: Sequence[FoundAnomaly]) -> str:
    """`97 in all: 95 count against the broker, 2 do not.`"""
    count = sum(one.counts for one in found)
    rest = len(found) - count
    counts = f"{count} count{'s' * (count == 1)} against the broker"
    return f"{len(found)} in all: {counts}" + (f", {rest} do{'es' * (rest == 1)} not." if rest else ".")


def _beside(place: RunLocation, history: History) -> Path:
    """Where the report is, or where the history folder is."""
    return place.beside or history.folder.parent


def _write(page: Path, content: str) -> None:
    try:
        page.write_text(content, encoding="utf-8")
    except OSError as problem:
        raise UserError(f"{page} cannot be written: {problem.strerror}.", "--html FILE puts it elsewhere.") from None


@dataclass
class Explanation:
    """One anomaly with all that explains it, as text and as a page."""

    place: str
    history: History
    found: FoundAnomaly
    number: int
    total: int
    opinion: CrossCheck | None = None
    drawn: Path | None = None
    whole: str = ""

    @property
    def anomaly(self) -> Anomaly:
        return self.found.anomaly

    @cached_property
    def minimum(self) -> Minimum | None:
        try:
            return smallest(self.history, self.anomaly, self.found.judged, PATIENCE_S)
        except NotMinimised as whole:
            self.whole = str(whole)
            return None

    @cached_property
    def proof(self) -> EvidenceTimeline:
        """The lines of the minimised history."""
        if self.minimum is None:
            return EvidenceTimeline(self.anomaly, self.history.title.started_ns, (), ())
        return evidence_timeline(self.history, self.anomaly, self.minimum.part)

    @property
    def size(self) -> str:
        """How small the history became, or why it did not."""
        return self.whole if self.minimum is None else self.minimum.sentence

    @property
    def promise(self) -> Guarantee | None:
        return registry().get(self.anomaly.guarantee)

    @property
    def definition(self) -> str:
        """What the check says that it looks for."""
        known = all_checks()
        own = known.get(self.anomaly.name)
        named = [check for check in known.values() if self.anomaly.name in check.definition.splitlines()[0]]
        return own.definition.strip() if own else named[0].definition.strip() if named else ""

    def cross_check(self, drawing: Path) -> None:
        """Asks Porcupine about the minimised history; it may draw a visualisation of its own."""
        part = self.minimum.part if self.minimum is not None else None
        scratch = drawing.parent / f".{drawing.stem}"
        opinions = cross_checks(self.history, [self.anomaly], scratch, part=part)
        self.opinion = opinions[0] if opinions else None
        if self.opinion is not None and self.opinion.picture is not None:
            self.opinion.picture.replace(drawing)
            self.drawn = drawing
        if scratch.is_dir():
            scratch.rmdir()

    @property
    def second(self) -> str:
        if self.opinion is None:
            return "Not a linearizability property; no Porcupine model applies."
        return self.opinion.sentence

    @property
    def _cause(self) -> str:
        cause = ATTRIBUTION[self.anomaly.attribution]
        return cause if self.found.counts or cause != "broker" else f"broker ({NOT_COUNTED} in this case)"

    def text(self) -> str:
        """For a terminal."""
        blocks = [
            ("", [f"{self.anomaly.name} ({self.number} of {self.total}) in {self.history.header.case}"]),
            ("Guarantee", list(self._promised())),
            ("Observed", [*_filled(self.anomaly.sentence), f"Caused by: {self._cause}."]),
            (
                "Minimal counterexample (times in seconds since the case began)",
                [*_filled(self.size), *rows(self.proof)],
            ),
            ("Faults", list(self._faults())),
            ("Cross-check", _filled(self.second)),
        ]
        return (
            "\n\n".join(
                "\n".join([title, *(INDENT + line for line in lines)] if title else lines) for title, lines in blocks
            )
            + "\n"
        )

    def _promised(self) -> Iterator[str]:
        if self.promise is None:
            yield self.anomaly.guarantee
            return
        yield from _filled(self.promise.statement)
        yield f"{self.promise.id}  {self.promise.level}  {self.promise.source}"
        yield self.promise.link
        if self.promise.quote:
            yield from _filled(f"“{self.promise.quote}”")
        if self.promise.quoted_from:
            yield f"from {self.promise.quoted_from}"

    def _faults(self) -> Iterator[str]:
        for window in self.proof.windows:
            times = f"{self.proof.seconds(window.begin)} s to {self.proof.seconds(window.end)} s"
            yield f"{times}  {window.text}"
        if not self.proof.windows:
            yield "No fault was active between the first and the last of these operations."

    def page(self) -> str:
        """As one file that works offline."""
        return (
            environment()
            .get_template("explain.html.j2")
            .render(
                anomaly=self.anomaly,
                case=self.history.header.case,
                header=self.history.header,
                number=self.number,
                total=self.total,
                cause=self._cause,
                promise=self.promise,
                definition=self.definition,
                size=self.size,
                proof=self.proof,
                lines=self.proof.lines,
                picture=Markup(draw(self.proof)),
                opinion=self.second,
                drawn=self.drawn.name if self.drawn else "",
                commands=[f"brokertrial explain {self.place} {self.number}", f"brokertrial check   {self.place}"],
                version=suite_version(),
                style=style(),
            )
        )


def rows(proof: EvidenceTimeline) -> list[str]:
    """The lines of a proof as a table."""
    table = [_row(proof, line) for line in proof.lines]
    widths = [max(len(row[column]) for row in table) for column in range(6)] if table else []
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, [*widths, 0], strict=True)).rstrip() for row in table
    ]


def _row(proof: EvidenceTimeline, line: TimelineEntry) -> list[str]:
    returned = f"to {proof.seconds(line.end)} s" if line.end is not None else "no return" if line.op is not None else ""
    at = f"{proof.seconds(line.begin)} s" if line.begin is not None else ""
    origin = f"(op {line.op}){'  <- evidence' if line.proves else ''}" if line.op is not None else ""
    return [at, returned, line.lane, line.what, line.text, line.outcome, origin]


def _filled(text: str) -> list[str]:
    return textwrap.wrap(text, 110)

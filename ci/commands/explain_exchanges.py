"""`brokertrial explain` of a case of single requests: its exchanges, with the one at fault."""

from __future__ import annotations

import textwrap
from pathlib import Path

import click
from markupsafe import Markup

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.errors import UserError
from brokertrial.ci.reports.cards import ShownMessage
from brokertrial.ci.reports.details import passed_on_kafka
from brokertrial.ci.reports.excerpt import excerpt
from brokertrial.ci.reports.exchange_steps import ExchangeStep, steps_of, whole
from brokertrial.ci.reports.report import environment, style
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History
from brokertrial.suites.guarantees import registry
from brokertrial.suites.reasons import label
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.rejudge import judge_stored

INDENT = "  "
FEW_LINES = 60


def explain_exchanges(text: str, history: History, which: str | None, page: Path) -> None:
    """Prints the case and writes its page; `which` is the number of an exchange, which is shown in full."""
    try:
        result = judge_stored(history.folder)
    except HistoryRefused as refused:
        raise UserError(str(refused)) from None
    steps = steps_of(history, result)
    if which is not None:
        click.echo(_one(history, result, steps, which))
        return
    click.echo(_told(text, history, result, steps))
    try:
        page.write_text(_page(text, history, result, steps), encoding="utf-8")
    except OSError as problem:
        raise UserError(f"{page} cannot be written: {problem.strerror}.", "--html FILE puts it elsewhere.") from None
    click.echo(f"Page\n{INDENT}{page}")


def rows(steps: list[ExchangeStep]) -> list[str]:
    """The steps as a table, those at fault marked."""
    cells = [
        (f"{s.number:>4}", f"{s.at_s:8.3f} s", s.where, s.api, s.request, f"-> {s.response}", s.note) for s in steps
    ]
    widths = [min(60, max(len(row[column]) for row in cells)) for column in range(6)] if cells else []
    return [
        ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)) + _mark(row[6])).rstrip()
        for row in cells
    ]


def _mark(note: str) -> str:
    return f"  <- {note}" if note else ""


def _one(history: History, result: CaseResult, steps: list[ExchangeStep], which: str) -> str:
    if not which.isdecimal() or not 1 <= int(which) <= len(steps):
        raise UserError(
            f"there is no exchange `{which}`: the case has {len(steps)}, counted from 1.",
            "A case of single requests has no anomalies; without a number, all of its exchanges are listed.",
        )
    step = steps[int(which) - 1]
    request, response = whole(history, step.number)
    took = f", response after {step.took}" if step.took else ""
    lines = [f"Exchange {step.number} of {len(steps)} in {result.case}: {step.api}, {step.where}{took}"]
    lines += [f"<- {step.note}"] if step.note else []
    return "\n".join([*lines, "", "Request", *_in(request), "", "Response", *_in(response)])


def _in(text: str) -> list[str]:
    return [INDENT + line for line in text.splitlines()]


def _told(text: str, history: History, result: CaseResult, steps: list[ExchangeStep]) -> str:
    verdict = "FAIL" if result.verdict is Verdict.FAIL else str(result.verdict)
    blocks = [("", [f"{verdict} {result.case}"]), ("Statement", _filled(result.statement))]
    for name in result.guarantees:
        if (promise := registry().get(name)) is not None:
            blocks.append(
                ("Guarantee", [*_filled(promise.statement), f"{promise.id}  {promise.level}  {promise.link}"])
            )
    if result.reason is not None:
        also = [f"also: {failure.sentence}" for failure in result.failures[1:]]
        blocks.append(("Observed", [line for each in (_observed(result), *also) for line in _filled(each)]))
    blocks.append((f"Exchanges ({len(steps)}); in full: brokertrial explain {text} NUMBER", rows(steps)))
    if fault := [line for message in _messages(result) for line in _message(message)]:
        blocks.append(("Requests and responses at fault", fault))
    if result.verdict is Verdict.FAIL:
        blocks.append(("Apache Kafka", [passed_on_kafka(result)]))
    return (
        "\n\n".join(
            "\n".join([title, *(INDENT + line for line in lines)] if title else lines) for title, lines in blocks
        )
        + "\n"
    )


def _observed(result: CaseResult) -> str:
    return f"{label(result.reason.kind)}: {result.reason.sentence}" if result.reason is not None else ""


def _messages(result: CaseResult) -> list[ShownMessage]:
    return [ShownMessage(e, excerpt(e.text, e.marked, FEW_LINES)) for e in result.evidence if "\n" in e.text]


def _message(message: ShownMessage) -> list[str]:
    what = message.entry.what.replace("answer", "response")
    note = f"  <- {message.entry.note}" if message.entry.note else ""
    return [f"{what}{note}", *(f"{'>' if line.marked else ' '} {line.text}" for line in message.lines)]


def _page(text: str, history: History, result: CaseResult, steps: list[ExchangeStep]) -> str:
    return (
        environment()
        .get_template("explain_exchanges.html.j2")
        .render(
            result=result,
            observed=_observed(result),
            guarantees=[registry()[name] for name in result.guarantees if name in registry()],
            header=history.header,
            steps=steps,
            messages=_messages(result),
            kafka=passed_on_kafka(result) if result.verdict is Verdict.FAIL else "",
            commands=[
                f"brokertrial explain {text} NUMBER",
                f"brokertrial check   {text}",
                f"brokertrial replay  {text}",
            ],
            version=suite_version(),
            style=Markup(style()),
        )
    )


def _filled(text: str) -> list[str]:
    return textwrap.wrap(text, 110)

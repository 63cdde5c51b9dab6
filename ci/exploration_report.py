"""The report of `brokertrial explore`: report.md, and report.html, one file that works offline."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from brokertrial.ci.reports.report import environment, style
from brokertrial.ci.reports.run_state import suite_version
from brokertrial.suites.explore.coverage import api_rows, never_reached
from brokertrial.suites.explore.finding import ShownExchange, ShrunkDifference
from brokertrial.suites.explore.record import ExplorationRecord
from brokertrial.suites.guarantees import registry

PAGE, TEXT = "report.html", "report.md"


def write(record: ExplorationRecord, folder: Path) -> None:
    """Writes both pages."""
    (folder / TEXT).write_text(markdown(record), encoding="utf-8")
    (folder / PAGE).write_text(html(record), encoding="utf-8")


def html(record: ExplorationRecord) -> str:
    """The page for a browser."""
    return (
        environment()
        .get_template("exploration.html.j2")
        .render(
            record=record,
            version=suite_version(),
            style=style(),
            findings=[_shown(record, number, each) for number, each in enumerate(record.findings, 1)],
            apis=api_rows(record.reached, record.ranges),
            never=never_reached(record.reached),
        )
    )


def markdown(record: ExplorationRecord) -> str:
    """The page as text."""
    return "\n".join([*_head(record), *_findings(record), *_coverage(record), ""])


def _head(record: ExplorationRecord) -> Iterator[str]:
    yield f"# {record.target} against {record.oracle}"
    yield ""
    yield (
        f"{record.began[:19]} UTC, seed {record.seed}, {record.seconds:.0f} s: {record.sequences} sequences, "
        f"{record.requests} requests to each broker, {record.accepted} of them answered without an error, "
        f"{len(record.reached)} states reached."
    )
    if record.lost:
        yield f"{record.lost} sequences were cut off by a failed connection and count for nothing."
    yield ""
    if not record.is_kafka:
        yield "The oracle is not Apache Kafka: no difference fails this run."
        yield ""


def _findings(record: ExplorationRecord) -> Iterator[str]:
    yield f"## Differences: {len(record.findings)}"
    yield ""
    for number, finding in enumerate(record.findings, 1):
        yield f"### {number}. {finding.cause}"
        yield ""
        yield from (f"- {line}" for line in remarks(record, finding))
        yield ""
        for count, exchange in enumerate(finding.story, 1):
            last = count == len(finding.story)
            yield f"{count}. {exchange.api} v{exchange.version} `{shown(exchange.request)}`"
            if last:
                yield f"   - {record.oracle}: `{shown(exchange.oracle)}`"
                yield f"   - {record.target}: `{shown(exchange.target)}`"
            else:
                yield f"   - both: `{shown(exchange.oracle)}`"
        yield ""
        yield f"| field | {record.oracle} | {record.target} |"
        yield "|---|---|---|"
        yield from (f"| {p.path} | {_cell(p.oracle)} | {_cell(p.target)} |" for p in finding.places)
        yield ""


def remarks(record: ExplorationRecord, finding: ShrunkDifference) -> Iterator[str]:
    """What is known of a finding, a sentence each."""
    if finding.guarantee:
        guarantee = registry().get(finding.guarantee)
        statement = f" ({guarantee.level}): {guarantee.statement}" if guarantee else ""
        yield f"Breaks {finding.guarantee}{statement} Here: {finding.harm}."
    if finding.known:
        yield f"Known: {finding.known}"
    yield (
        f"Shown {finding.reproduced} of {finding.checks} times on fresh brokers."
        if finding.checks
        else "Not checked on fresh brokers: the time was over."
    )
    yield (
        f"First met after {finding.found_after_s:.0f} s in a sequence of {finding.found_length} requests; "
        f"met {finding.met} times; {len(finding.story)} requests are left."
    )


def _coverage(record: ExplorationRecord) -> Iterator[str]:
    yield "## What was reached"
    yield ""
    yield "| API | versions | requests | error codes |"
    yield "|---|---|---:|---|"
    for row in api_rows(record.reached, record.ranges):
        yield f"| {row.api} | {row.versions} | {row.requests} | {', '.join(f'{c} {n}' for c, n in row.codes)} |"
    yield ""
    yield "## What was never reached"
    yield ""
    for api, codes in never_reached(record.reached).items():
        yield f"- {api}: {', '.join(codes)}"


def _shown(record: ExplorationRecord, number: int, finding: ShrunkDifference) -> dict[str, Any]:
    return {
        "number": number,
        "finding": finding,
        "remarks": list(remarks(record, finding)),
        "steps": [_step(count, each, finding) for count, each in enumerate(finding.story, 1)],
    }


def _step(number: int, exchange: ShownExchange, finding: ShrunkDifference) -> dict[str, Any]:
    last = number == len(finding.story)
    return {
        "number": number,
        "api": exchange.api,
        "version": exchange.version,
        "connection": exchange.connection,
        "request": shown(exchange.request),
        "oracle": _marked(exchange.oracle, finding, "oracle") if last else shown(exchange.oracle),
        "target": _marked(exchange.target, finding, "target") if last else "",
    }


def _marked(answer: Any, finding: ShrunkDifference, side: str) -> Markup:
    """An answer with the values marked that differ."""
    text = str(escape(shown(answer)))
    for place in finding.places:
        name = place.path.rsplit(".", 1)[-1].split("[")[0]
        value = place.oracle if side == "oracle" else place.target
        number = value.rpartition("(")[2].rstrip(")") if name.endswith("error_code") else value
        for written in (number, json.dumps(value, ensure_ascii=False)):
            pair = str(escape(f'"{name}": {written}'))
            text = re.sub(rf"(?<!<mark>){re.escape(pair)}(?![\w.])", f"<mark>{pair}</mark>", text)
    return Markup(text)


def shown(value: Any) -> str:
    """A request or an answer on one line, what is empty left out."""
    return value if isinstance(value, str) else json.dumps(_short(value), ensure_ascii=False)


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _short(inner) for key, inner in value.items()}
        return {key: inner for key, inner in kept.items() if inner not in (None, "", [], {}) or key == "records"}
    if isinstance(value, list):
        return [_short(each) for each in value]
    return f"{value[:60]}... ({len(value)} characters)" if isinstance(value, str) and len(value) > 100 else value


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:300]

"""One case result as text: statement, evidence, commands. `check`, junit.xml and the summary print all of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import informational
from brokertrial.ci.reports.excerpt import excerpt
from brokertrial.ci.reports.fault_words import worded_line
from brokertrial.suites.guarantees import registry
from brokertrial.suites.reasons import label as in_words
from brokertrial.suites.result import CaseResult, Evidence
from brokertrial.suites.running.run_folder import folder_name

INDENT = " " * 6
WIDTH = 110
MOST_ANOMALIES = 5
MOST_LOG_LINES = 12
MOST_MESSAGES = 4
"""Decoded requests and responses of one case; the report has all of them."""
BRIEF = 8
"""Lines of evidence, where a console shows one case of many."""
MOST_LINES = 24
"""Of one case on a console, where the next cases must stay in sight."""
MOST_REASON_LINES = 6
MOST_COLUMNS = 160
CUT = "…"

LABEL = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "FAIL",
    Verdict.INCONCLUSIVE: "incon",
    Verdict.NOT_APPLICABLE: "n/a",
}


def label(result: CaseResult) -> str:
    """The verdict in five characters; a violated `should` is a warning."""
    return f"{'warn' if result.verdict is Verdict.FAIL and result.level != 'must' else LABEL[result.verdict]:<5}"


def headline(result: CaseResult, word: str = "") -> str:
    """One line: verdict (or `word`), case, seconds, and why it is not green."""
    reason = f"  {in_words(result.reason.kind)}: {result.reason.sentence}" if result.reason else ""
    return f"{word or label(result):<5} {result.case:<58} {_seconds(result)}{reason}".rstrip()


def details(result: CaseResult, place: str) -> str:
    """Everything a person needs to believe, or to dispute, a verdict that is not green. `place` is the run folder."""
    blocks = [
        f"{label(result)} {result.case:<58} {_seconds(result)}  {citation(result)}",
        _wrapped(result.statement),
        _reason(result),
        "\n".join(_proof_lines(result.evidence)),
        "\n".join(_anomaly_lines(result)),
        "\n".join(informational.lines(result)),
        "\n".join(f"{INDENT}{line}" for line in attempt_lines(result)) if len(result.attempts) > 1 else "",
        "\n".join(f"{INDENT}warning: {warning}" for warning in result.warnings),
        "\n".join(_beside(result)),
        "\n".join(f"{INDENT}{command}" for command in commands(result, place)),
    ]
    head, *rest = [block for block in blocks if block]
    return head + "\n" + "\n\n".join(rest) + "\n"


def brief(result: CaseResult, place: str, same_as: str = "") -> str:
    """A failure in a few lines, while the run goes on: what is wrong, and where it shows. `same_as`: of one cause."""
    head = f"{label(result)} {result.case:<58} {_seconds(result)}".rstrip()
    if same_as:
        return f"{head}  same cause as {same_as}"
    said = "\n".join(_anomaly_lines(result, 1)) or _reason(result)
    lines = _first(said.splitlines(), MOST_REASON_LINES)
    shown = [entry for entry in _of_first(result) if "\n" not in entry.text][:BRIEF]
    lines += list(_proof_lines(shown))
    if not shown:
        lines += [line for entry in _at_fault(result.evidence) for line in _message(entry, BRIEF)]
    return bounded("\n".join([head, *filter(None, lines)]) + "\n", result, place, more=bool(result.history))


def _of_first(result: CaseResult) -> list[Evidence]:
    """The evidence of the anomaly that is named, with the faults around it; the result has that of some."""
    if not result.anomalies:
        return list(result.evidence)
    first = result.anomalies[0].operations
    return [entry for entry in result.evidence if entry.op is None or entry.op in first]


def bounded(text: str, result: CaseResult, place: str, more: bool = False) -> str:
    """A text about one case, cut in length and in width for a console. Where it was cut, or there is `more`, it says
    where that is."""
    lines = text.splitlines()
    kept = [line if len(line) <= MOST_COLUMNS else line[: MOST_COLUMNS - 1] + CUT for line in _first(lines, MOST_LINES)]
    if not more and not any(line.endswith(CUT) for line in kept):
        return text
    command = next(iter(commands(result, place)), "")
    rest = f"`{command}` and the report show more." if command else f"{place}/report.html has all of it."
    return "\n".join([*kept, f"{INDENT}{rest}"]) + "\n"


def _first(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1]} {CUT}"]


def _at_fault(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The last message with a mark or a note."""
    return [entry for entry in evidence if entry.marked or entry.note][-1:]


def citation(result: CaseResult) -> str:
    """`cmt-002 must (source)` of every guarantee of the case."""
    known = registry()
    parts = []
    for name in result.guarantees:
        entry = known.get(name)
        parts.append(f"{name} {entry.level} ({entry.source})" if entry else name)
    return "; ".join(parts)


def attempt_lines(result: CaseResult) -> list[str]:
    """Every attempt: seed, verdict, reason, and the anomalies that it saw."""
    lines = []
    for number, attempt in enumerate(result.attempts, 1):
        why = f": {attempt.reason.kind}: {attempt.reason.sentence}" if attempt.reason else ""
        saw = dict.fromkeys(anomaly.name for anomaly in attempt.anomalies)
        seen = f" (saw {', '.join(saw)})" if saw else ""
        lines.append(f"attempt {number}, seed {attempt.seed}: {attempt.verdict}{seen}{why}")
    return lines


def commands(result: CaseResult, place: str) -> list[str]:
    """How to explain this result, to re-check it and to replay it."""
    if not result.history:
        return []
    name = folder_name(result.case)
    explain = [f"brokertrial explain {place}/{name}"] if result.verdict is Verdict.FAIL or result.anomalies else []
    return [*explain, f"brokertrial check   {place}/{name}", f"brokertrial replay  {place}/{name}"]


def _seconds(result: CaseResult) -> str:
    return f"{result.duration_s:6.1f} s" if result.verdict is not Verdict.NOT_APPLICABLE else " " * 8


def _reason(result: CaseResult) -> str:
    if result.reason is None or (result.reason.kind == "anomaly" and result.anomalies):
        return ""  # the anomalies say it themselves
    return _wrapped(f"{in_words(result.reason.kind)}: {result.reason.sentence}")


def _proof_lines(evidence: Sequence[Evidence]) -> Iterator[str]:
    evidence = list(map(worded_line, evidence))
    lines = [entry for entry in evidence if "\n" not in entry.text]
    what, text, outcome = _widths(lines)
    messages = 0
    for entry in evidence:
        if "\n" in entry.text:
            messages += 1
            if messages <= MOST_MESSAGES:
                yield from _message(entry)
            continue
        when = f"at {entry.at_s:.3f} s" if entry.at_s is not None else ""
        row = f"{entry.what:<{what}}  {entry.text:<{text}}  {entry.outcome:<{outcome}}  {when:<12} {_origin(entry):<11}"
        yield f"{INDENT}{row} {'<- ' + entry.note if entry.note else ''}".rstrip()
    if messages > MOST_MESSAGES:
        yield f"{INDENT}... and {messages - MOST_MESSAGES} more requests and responses in the report."


def _widths(lines: Sequence[Evidence]) -> tuple[int, int, int]:
    def widest(texts: list[str], most: int) -> int:
        return min(most, max((len(text) for text in texts), default=0))

    return (
        widest([e.what for e in lines], 14),
        widest([e.text for e in lines], 60),
        widest([e.outcome for e in lines], 6),
    )


def _origin(entry: Evidence) -> str:
    if entry.op is not None:
        return f"(op {entry.op})"
    return f"(fault {entry.window})" if entry.window else ""


def _message(entry: Evidence, most: int = 30) -> Iterator[str]:
    """A decoded request or response, one field a line, cut around the fields that differ: those carry a mark."""
    when = f" at {entry.at_s:.3f} s" if entry.at_s is not None else ""
    what = entry.what.replace("answer", "response")
    yield f"{INDENT}{what}{when}{'  <- ' + entry.note if entry.note else ''}"
    for line in excerpt(entry.text, entry.marked, most, around=max(1, most // 4)):
        yield f"{INDENT}{'>' if line.marked else ' '} {line.text}"


def _anomaly_lines(result: CaseResult, most: int = MOST_ANOMALIES) -> Iterator[str]:
    for anomaly in result.anomalies[:most]:
        yield textwrap.fill(
            f"{anomaly.name}: {anomaly.sentence}", WIDTH, initial_indent=INDENT, subsequent_indent=INDENT + "  "
        )
    if (more := len(result.anomalies) - most) > 0:
        yield f"{INDENT}... and {more} more in the report."


def _beside(result: CaseResult) -> Iterator[str]:
    if result.verdict is Verdict.FAIL:
        yield _wrapped(passed_on_kafka(result))
        if result.proof is not None and result.proof.fails_with:
            yield f"{INDENT}Detects planted bugs: {', '.join(result.proof.fails_with)}."
    for line in result.log_lines[:MOST_LOG_LINES]:
        yield f"{INDENT}node {line.node} | {line.at_s:8.3f} s | {line.text}"


def passed_on_kafka(result: CaseResult) -> str:
    """What entitles the case to accuse: where it passed on Apache Kafka."""
    if result.proof is None or not result.proof.passed_on:
        warns = ", so it can only warn" if result.level != "must" else ""
        return f"This case has not yet passed on Apache Kafka{warns}."
    due = "; it or code that it uses has changed since, and must pass there again" if result.proof.renewal_due else ""
    return f"This case passed on {result.proof.passed_on[-1]}{due}."


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)

"""One case result as text: the statement, the proof, the way back. Console, job summary and `check` print the same."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from checkers.verdict import Verdict
from ci.reports import informational
from suites.guarantees import registry
from suites.result import CaseResult, Evidence

INDENT = " " * 6
WIDTH = 110
MOST_ANOMALIES = 5
MOST_LOG_LINES = 12

LABEL = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "FAIL",
    Verdict.INCONCLUSIVE: "incon",
    Verdict.NOT_APPLICABLE: "n/a",
}


def label(result: CaseResult) -> str:
    """The verdict in five characters; a `should` that does not hold is a warning."""
    return f"{'warn' if result.verdict is Verdict.FAIL and result.level != 'must' else LABEL[result.verdict]:<5}"


def headline(result: CaseResult, word: str = "") -> str:
    """One line: verdict (or `word`), case, seconds, and why it is not green."""
    reason = f"  {result.reason.kind}: {result.reason.sentence}" if result.reason else ""
    return f"{word or label(result):<5} {result.case:<58} {_seconds(result)}{reason}"


def details(result: CaseResult, place: str) -> str:
    """Everything a person needs to believe, or to dispute, a verdict that is not green. `place` is the run folder."""
    blocks = [
        f"{label(result)} {result.case:<58} {_seconds(result)}  {citation(result)}",
        _wrapped(result.statement),
        _reason(result),
        "\n".join(_proof_lines(result)),
        "\n".join(_anomaly_lines(result)),
        "\n".join(informational.lines(result)),
        "\n".join(f"{INDENT}{line}" for line in attempt_lines(result)) if len(result.attempts) > 1 else "",
        "\n".join(f"{INDENT}warning: {warning}" for warning in result.warnings),
        "\n".join(_beside(result)),
        "\n".join(f"{INDENT}{command}" for command in commands(result, place)),
    ]
    head, *rest = [block for block in blocks if block]
    return head + "\n" + "\n\n".join(rest) + "\n"


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
    """How to judge this result again, and how to provoke it again."""
    if not result.history:
        return []
    name = result.case.replace("/", ".")
    return [f"brokertrial check  {place}/{name}", f"brokertrial replay {place}/{name}"]


def _seconds(result: CaseResult) -> str:
    return f"{result.duration_s:6.1f} s" if result.verdict is not Verdict.NOT_APPLICABLE else " " * 8


def _reason(result: CaseResult) -> str:
    if result.reason is None or (result.reason.kind == "anomaly" and result.anomalies):
        return ""  # the anomalies say it themselves
    return _wrapped(f"{result.reason.kind}: {result.reason.sentence}")


def _proof_lines(result: CaseResult) -> Iterator[str]:
    lines = [entry for entry in result.evidence if "\n" not in entry.text]
    what, text, outcome = _widths(lines)
    for entry in result.evidence:
        if "\n" in entry.text:
            yield from _message(entry)
            continue
        when = f"at {entry.at_s:.3f} s" if entry.at_s is not None else ""
        row = f"{entry.what:<{what}}  {entry.text:<{text}}  {entry.outcome:<{outcome}}  {when:<12} {_origin(entry):<11}"
        yield f"{INDENT}{row} {'<- ' + entry.note if entry.note else ''}".rstrip()


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
    return f"(window {entry.window})" if entry.window else ""


def _message(entry: Evidence) -> Iterator[str]:
    """A decoded request or answer, one field a line; the fields that differ carry a mark."""
    when = f" at {entry.at_s:.3f} s" if entry.at_s is not None else ""
    yield f"{INDENT}{entry.what}{when}{'  <- ' + entry.note if entry.note else ''}"
    for number, line in enumerate(entry.text.splitlines()):
        yield f"{INDENT}{'>' if number in entry.marked else ' '} {line}"


def _anomaly_lines(result: CaseResult) -> Iterator[str]:
    for anomaly in result.anomalies[:MOST_ANOMALIES]:
        yield textwrap.fill(
            f"{anomaly.name}: {anomaly.sentence}", WIDTH, initial_indent=INDENT, subsequent_indent=INDENT + "  "
        )
    if (more := len(result.anomalies) - MOST_ANOMALIES) > 0:
        yield f"{INDENT}... and {more} more; the report lists them."


def _beside(result: CaseResult) -> Iterator[str]:
    if result.verdict is Verdict.FAIL:
        if result.proof is None:
            yield f"{INDENT}Not in the proof record: this case has not yet been seen to pass on Apache Kafka."
        else:
            if result.proof.passed_on:
                yield _wrapped(f"P{result.proof.sentence[1:]}.")
            if result.proof.fails_with:
                yield f"{INDENT}Planted bugs that make it fail: {', '.join(result.proof.fails_with)}."
    for line in result.log_lines[:MOST_LOG_LINES]:
        yield f"{INDENT}node {line.node} | {line.at_s:8.3f} s | {line.text}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)

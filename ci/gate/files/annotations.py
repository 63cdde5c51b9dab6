"""annotations.txt: workflow commands of GitHub Actions, which become annotations when they are printed in a job.

GitHub shows ten of a kind and step: one a cause, not one a case, what blocks first. Source: GitHub Docs, "Workflow
commands for GitHub Actions".
"""

from __future__ import annotations

from collections.abc import Iterator

from brokertrial.ci.gate.findings import Finding, findings
from brokertrial.ci.gate.gated import Gated

NAME = "annotations.txt"
MOST = 10
COMMAND = {"error": "error", "warning": "warning", "note": "notice"}
IN_BASELINE = ("mended", "expired", "known")
SHOWN_CASES = 5


def render(gated: Gated) -> str:
    """The lines, errors first."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    shown_already: set[tuple[str, str]] = set()
    for finding in findings(gated.decision, gated.state.known, gated.policy):
        if (finding.kind, finding.case) in shown_already:
            continue  # what else is wrong in the case is in the summary
        shown_already.add((finding.kind, finding.case))
        same = finding.cause or f"{finding.kind} {finding.case}"
        groups.setdefault((finding.level, finding.kind, same), []).append(finding)
    lines = []
    for level in COMMAND:
        of_level = [group for key, group in groups.items() if key[0] == level]
        shown = of_level if len(of_level) <= MOST else of_level[: MOST - 1]
        lines += [_line(group, gated.baseline) for group in shown]
        if len(shown) < len(of_level):
            more = f"{len(of_level) - len(shown)} more: see the job summary"
            lines.append(f"::{COMMAND[level]} title=brokertrial::{_message(more)}")
    return "".join(f"{line}\n" for line in lines)


def _line(group: list[Finding], baseline: str) -> str:
    first = group[0]
    place = {"file": baseline, "line": str(first.line)} if first.kind in IN_BASELINE else {}
    properties = {**place, "title": f"{first.kind}: {first.case}"}
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = "\n".join(_sentences(group))
    return f"::{COMMAND[first.level]} {said}::{_message(text)}"


def _sentences(group: list[Finding]) -> Iterator[str]:
    yield group[0].sentence
    if others := list(dict.fromkeys(finding.case for finding in group[1:] if finding.case != group[0].case)):
        more = f" and {len(others) - SHOWN_CASES} more" if len(others) > SHOWN_CASES else ""
        yield f"Also in {', '.join(others[:SHOWN_CASES])}{more}."


def refusal(sentence: str) -> str:
    """The annotation of a gate that never ran, for what it was asked for cannot be."""
    return f"::error title=brokertrial gate::{_message(sentence)}\n"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")

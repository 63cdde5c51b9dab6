"""Informational findings: behaviour that Kafka allows, listed apart from failures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from brokertrial.suites.guarantees import registry
from brokertrial.suites.result import CaseResult

MEANING = "allowed by Kafka; not failures"
MOST = 3
"""Of one name in one case that the text shows; the report and results.jsonl have all that were listed."""
INDENT = " " * 6
WIDTH = 110


@dataclass(frozen=True)
class InformationalFinding:
    """All findings of one name in a run."""

    name: str
    guarantee: str
    count: int
    cases: tuple[str, ...]

    @property
    def statement(self) -> str:
        """The promise that this would have broken under stricter settings, or elsewhere in the protocol."""
        known = registry().get(self.guarantee)
        return known.statement if known else ""


def informational_findings(results: Iterable[CaseResult]) -> list[InformationalFinding]:
    """A row for each name, the most frequent first."""
    found: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for anomaly in result.permitted:
            found.setdefault((anomaly.name, anomaly.guarantee), []).append(result.case)
    rows = [
        InformationalFinding(name, guarantee, len(cases), tuple(dict.fromkeys(cases)))
        for (name, guarantee), cases in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.count, row.name, row.guarantee))


def lines(result: CaseResult) -> Iterator[str]:
    """The findings of one case as text, the first few of each name; nothing when there are none."""
    if not result.permitted:
        return
    yield f"{INDENT}informational ({MEANING}):"
    for row in informational_findings([result]):
        same = [each for each in result.permitted if (each.name, each.guarantee) == (row.name, row.guarantee)]
        for anomaly in same[:MOST]:
            yield textwrap.fill(
                f"{anomaly.name}: {anomaly.sentence}",
                WIDTH,
                initial_indent=INDENT + "  ",
                subsequent_indent=INDENT + "    ",
            )
        if row.count > MOST:
            yield f"{INDENT}  ... and {row.count - MOST} more {row.name} in the report."


def line(results: Iterable[CaseResult]) -> str:
    """One line over a whole run; empty when nothing was found."""
    rows = informational_findings(results)
    if not rows:
        return ""
    parts = [f"{row.name} {row.count} in {len(row.cases)} case{'s' if len(row.cases) > 1 else ''}" for row in rows]
    return f"Informational ({MEANING}): {', '.join(parts)}"

"""summary.md: the job summary. The decision first, then what is new, mended and expired, then the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.gate.causes import shortened
from brokertrial.ci.gate.decision import counted
from brokertrial.ci.gate.findings import Finding, findings
from brokertrial.ci.gate.gated import Gated
from brokertrial.ci.reports import summary
from brokertrial.suites.exit_status import ExitStatus

NAME = "summary.md"
MOST_ROWS = 50
LONGEST = 160
MARK = {ExitStatus.PASSED: "✅", ExitStatus.FAILED: "❌"}
TABLES = {
    "new": "New failures",
    "expired": "Expired entries of the baseline",
    "mended": "Mended: to be removed from the baseline",
    "lost": "Not judged any more since the last good run",
    "inconclusive": "Inconclusive",
    "warning": "Failures that do not block",
    "known": "Known failures",
}


def render(gated: Gated) -> str:
    """The whole page, which GitHub shows up to one megabyte of."""
    return "\n".join(_page(gated)) + "\n\n" + (summary.render(gated.state) if gated.runs.run else "")


def _page(gated: Gated) -> Iterator[str]:
    decision = gated.decision
    word = "passed" if decision.is_green else "failed" if decision.status == ExitStatus.FAILED else "not decided"
    yield f"# {MARK.get(decision.status, '⚠️')} brokertrial gate {word}: {gated.target}"
    yield ""
    yield f"Exit status {int(decision.status)}: {decision.meaning}."
    yield ""
    for objection in decision.objections:
        yield f"- **{_plain(objection.sentence)}**"
    for note in gated.notes:
        yield f"- {_plain(note)}"
    found = findings(decision, gated.state.known, gated.policy)
    since = _since(gated)
    for kind, title in TABLES.items():
        if rows := [finding for finding in found if finding.kind == kind]:
            yield from _table(title, rows, since)


def _since(gated: Gated) -> dict[str, str]:
    """For the last column, by case: what passed in the last good run, and what failed there in whatever way."""
    last = gated.last.results if gated.last else ()
    failed = {result.case: "failed then" for result in last if result.verdict is Verdict.FAIL}
    return failed | {result.case: "broken" for result in gated.decision.changes.broken}


def _table(title: str, rows: Sequence[Finding], since: Mapping[str, str]) -> Iterator[str]:
    yield ""
    cases = len({row.case for row in rows})
    yield f"### {title}: {len(rows)}" + (f", in {counted(cases, 'case')}" if cases < len(rows) else "")
    yield ""
    yield "| case | rule | what | since the last good run |"
    yield "|---|---|---|---|"
    for row in rows[:MOST_ROWS]:
        why = f" ({row.accepted})" if row.accepted else ""
        what = _cell(shortened(row.sentence, LONGEST) + why)
        yield f"| `{row.case}` | {row.rule} | {what} | {since.get(row.case, '')} |"
    if len(rows) > MOST_ROWS:
        yield f"\n... and {len(rows) - MOST_ROWS} more."


def _cell(text: str) -> str:
    return _plain(" ".join(text.split())).replace("|", "\\|")


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("`", "'")

"""summary.md: the job summary that GitHub and GitLab show, at most a few hundred kilobytes."""

from __future__ import annotations

from collections.abc import Iterator

from checkers.verdict import Verdict
from ci.reports import informational, known_failures
from ci.reports.details import attempt_lines, details
from ci.reports.run_state import RunState, suite_version
from suites.events import RunEvent, RunFinished
from suites.result import CaseResult

MOST_DETAILS = 40
SHOWN_FILES = 3
MARK = {Verdict.PASS: "✓", Verdict.FAIL: "✗", Verdict.INCONCLUSIVE: "?", Verdict.NOT_APPLICABLE: "–"}


class SummaryWriter:
    """Written once, at the end."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def on(self, event: RunEvent) -> None:
        if isinstance(event, RunFinished):
            (self._state.folder / "summary.md").write_text(render(self._state), encoding="utf-8")


def writer(state: RunState) -> SummaryWriter:
    return SummaryWriter(state)


def render(state: RunState) -> str:
    """The whole page."""
    return "\n".join(_page(state)) + "\n"


def _page(state: RunState) -> Iterator[str]:
    tally = state.tally
    run = state.run
    yield f"## brokertrial: {run.target if run else 'no target'}"
    if run:
        yield ""
        yield (
            f"{run.target_version or 'version not stated'} · profile {run.profile} · seed {run.seed} · "
            f"{run.started_at} · brokertrial {suite_version()}"
        )
    yield ""
    yield f"**{tally.line()}**"
    if state.shortfall:
        yield ""
        yield f"> {state.shortfall}"
    if state.end and state.end.error:
        yield ""
        yield f"> {state.end.error}"
    yield from _renewal(state.results)
    yield ""
    yield from _areas(state.results)
    yield from _section("Failed", tally.failed, state)
    yield from _section("Warned (`should`)", tally.warned, state)
    yield from _section("Inconclusive", tally.inconclusive, state)
    if tally.known:
        yield "### Known to fail"
        for result in tally.known:
            for entry in state.known.reasons(result):
                yield f"- `{result.case}`: {entry.failure} ({entry.reason}{', ' + entry.issue if entry.issue else ''})"
        yield ""
    if tally.tried_again:
        yield "<details><summary>Cases that needed more than one attempt</summary>\n"
        for result in state.results:
            if len(result.attempts) > 1:
                yield f"- `{result.case}`"
                yield from (f"  - {line}" for line in attempt_lines(result))
        yield "\n</details>\n"
    yield from _permitted(state.results)
    yield from _not_applicable(tally.not_applicable)
    for stale in tally.stale:
        yield f"- {state.known.sentence(stale)}"
    if run and run.left_out:
        yield "<details><summary>Left out of this run</summary>\n"
        for left in run.left_out:
            yield f"- `{left.case}`: {left.reason}"
        yield "\n</details>\n"
    if told := known_failures.to_say(state):
        yield "<details><summary>Lines that would record these failures in known.toml</summary>\n\n```text"
        yield from told
        yield "```\n</details>"


def _renewal(results: list[CaseResult]) -> Iterator[str]:
    due = [result.proof.renewal_due for result in results if result.proof and result.proof.renewal_due]
    if due:
        files = [f"`{file}`" for file in sorted({file for some in due for file in some})]
        more = f" and {len(files) - SHOWN_FILES} more files" if len(files) > SHOWN_FILES else ""
        what = ", ".join(files[:SHOWN_FILES]) + more
        yield ""
        yield f"The proof of {len(due)} of these cases on Apache Kafka is due for renewal: {what} changed since."


def _areas(results: list[CaseResult]) -> Iterator[str]:
    areas = list(dict.fromkeys(result.case.partition("/")[0] for result in results))
    if not areas:
        return
    yield "| area | ✓ | ✗ | ? | – |"
    yield "|---|--:|--:|--:|--:|"
    for area in areas:
        verdicts = [r.verdict for r in results if r.case.partition("/")[0] == area]
        yield f"| {area} | " + " | ".join(str(verdicts.count(verdict) or "") for verdict in MARK) + " |"
    yield ""


def _permitted(results: list[CaseResult]) -> Iterator[str]:
    if not (rows := informational.informational_findings(results)):
        return
    yield f"<details><summary>Permitted: {informational.MEANING}</summary>\n"
    for row in rows:
        yield f"- `{row.name}` {row.count} times, in {', '.join(f'`{case}`' for case in row.cases)}"
    yield "\n</details>\n"


def _not_applicable(results: list[CaseResult]) -> Iterator[str]:
    """Why each of these cases was not judged: one line a reason, with its cases."""
    if not results:
        return
    cases: dict[str, list[str]] = {}
    for result in results:
        reason = f"{result.reason.kind}: {result.reason.sentence}" if result.reason else "no reason given"
        cases.setdefault(reason, []).append(f"`{result.case}`")
    yield "<details><summary>Not applicable, by reason</summary>\n"
    for reason in sorted(cases):
        yield f"- {reason}: {', '.join(cases[reason])}"
    yield "\n</details>\n"


def _section(title: str, results: list[CaseResult], state: RunState) -> Iterator[str]:
    if not results:
        return
    yield f"### {title}"
    yield ""
    for result in results[:MOST_DETAILS]:
        body = details(result, state.place).replace("```", "'''")
        yield f"<details><summary><code>{result.case}</code></summary>\n\n```text\n{body}```\n</details>\n"
    if len(results) > MOST_DETAILS:
        yield f"... and {len(results) - MOST_DETAILS} more: see report.html in the run folder.\n"

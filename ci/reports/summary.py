"""summary.md: the job summary that GitHub and GitLab show, at most a few hundred kilobytes."""

from __future__ import annotations

from collections.abc import Iterator

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import informational, known_failures
from brokertrial.ci.reports.causes import Cause, by_harm, causes
from brokertrial.ci.reports.details import attempt_lines, details
from brokertrial.ci.reports.left_out import by_reason, chosen_by
from brokertrial.ci.reports.run_state import RunState, suite_version
from brokertrial.suites.events import RunEvent, RunFinished
from brokertrial.suites.reasons import label
from brokertrial.suites.result import CaseResult

MOST_DETAILS = 40
"""Causes, and inconclusive cases, that are shown with their evidence."""
MOST_CASES = 20
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
            f"{run.target_version or 'version not stated'} · {chosen_by(run)} · seed {run.seed} · "
            f"{run.started_at} · brokertrial {suite_version()}"
        )
    yield ""
    yield f"**{tally.line()}**"
    for problem in filter(None, (state.shortfall, state.end.error if state.end else "")):
        yield f"\n> {problem}"
    yield ""
    failed, warned = causes(tally.failed, state.results), causes(tally.warned, state.results)
    yield from _index("Causes, most harmful first", failed, 1)
    yield from _index("Warnings (a `should` was violated)", warned, len(failed) + 1)
    yield from _areas(state.results)
    yield from _evidence("Failures", failed, 1, state)
    yield from _evidence("Warnings", warned, len(failed) + 1, state)
    yield from _inconclusive(tally.inconclusive, state)
    if tally.known:
        yield "### Known failures"
        for result in tally.known:
            for entry in state.known.reasons(result):
                yield f"- `{result.case}`: {entry.failure} ({entry.reason}{', ' + entry.issue if entry.issue else ''})"
        yield ""
    yield from _attempts(state.results)
    yield from _informational(state.results)
    yield from _not_applicable(tally.not_applicable)
    for stale in tally.stale:
        yield f"- {state.known.sentence(stale)}"
    if run and run.left_out:
        yield "<details><summary>Not run (report.html has every name)</summary>\n"
        yield from (f"- {line}" for line in by_reason(run.left_out, MOST_CASES))
        yield "\n</details>\n"
    yield from _renewal(state.results)
    if pointer := known_failures.pointer(state):
        yield f"\n{pointer}"


def _index(title: str, found: list[Cause], first: int) -> Iterator[str]:
    if not found:
        return
    yield f"### {title}"
    numbers = {cause.key: number for number, cause in enumerate(found, first)}
    for heading, some in by_harm(found):
        yield f"\n**{heading}**\n"
        for cause in some:
            cases = [f"`{result.case}`" for result in cause.results[:MOST_CASES]]
            more = f" and {len(cause.results) - MOST_CASES} more" if len(cause.results) > MOST_CASES else ""
            blocked = f" ({len(cause.blocked)} more could not be judged)" if cause.blocked else ""
            yield f"- {numbers[cause.key]}: **{cause.count}**{blocked}: {_plain(cause.title)}: {', '.join(cases)}{more}"
    yield ""


def _evidence(title: str, found: list[Cause], begin: int, state: RunState) -> Iterator[str]:
    """The first case of each cause, in full."""
    if not found:
        return
    yield f"### {title}"
    yield ""
    for number, cause in list(enumerate(found, begin))[:MOST_DETAILS]:
        first = cause.results[0]
        yield _folded(f"{number}: <code>{first.case}</code>", details(first, state.place_of(first)))
    if len(found) > MOST_DETAILS:
        yield f"... and {len(found) - MOST_DETAILS} more in report.html in the run folder.\n"


def _inconclusive(results: list[CaseResult], state: RunState) -> Iterator[str]:
    if not results:
        return
    yield "### Inconclusive"
    yield ""
    for result in results[:MOST_DETAILS]:
        yield _folded(f"<code>{result.case}</code>", details(result, state.place_of(result)))
    if len(results) > MOST_DETAILS:
        yield f"... and {len(results) - MOST_DETAILS} more in report.html in the run folder.\n"


def _folded(title: str, text: str) -> str:
    body = text.replace("```", "'''")
    return f"<details><summary>{title}</summary>\n\n```text\n{body}```\n</details>\n"


def _plain(text: str) -> str:
    """A sentence without what Markdown would take for markup."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("`", "'")


def _attempts(results: list[CaseResult]) -> Iterator[str]:
    again = [result for result in results if len(result.attempts) > 1]
    if not again:
        return
    yield "<details><summary>Cases that needed more than one attempt</summary>\n"
    for result in again:
        yield f"- `{result.case}`"
        yield from (f"  - {line}" for line in attempt_lines(result))
    yield "\n</details>\n"


def _renewal(results: list[CaseResult]) -> Iterator[str]:
    due = [result.proof.renewal_due for result in results if result.proof and result.proof.renewal_due]
    if due:
        files = [f"`{file}`" for file in sorted({file for some in due for file in some})]
        more = f" and {len(files) - SHOWN_FILES} more files" if len(files) > SHOWN_FILES else ""
        what = ", ".join(files[:SHOWN_FILES]) + more
        yield ""
        yield f"{len(due)} of these cases passed on Apache Kafka before {what} changed; they must pass there again."


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


def _informational(results: list[CaseResult]) -> Iterator[str]:
    if not (rows := informational.informational_findings(results)):
        return
    yield f"<details><summary>Informational: {informational.MEANING}</summary>\n"
    for row in rows:
        yield f"- `{row.name}` {row.count} times, in {', '.join(f'`{case}`' for case in row.cases)}"
    yield "\n</details>\n"


def _not_applicable(results: list[CaseResult]) -> Iterator[str]:
    """Why each of these cases was not judged: one line a reason, with its cases."""
    if not results:
        return
    cases: dict[str, list[str]] = {}
    for result in results:
        reason = f"{label(result.reason.kind)}: {result.reason.sentence}" if result.reason else "no reason given"
        cases.setdefault(reason, []).append(f"`{result.case}`")
    yield "<details><summary>Not applicable, by reason</summary>\n"
    for reason in sorted(cases):
        yield f"- {reason}: {', '.join(cases[reason])}"
    yield "\n</details>\n"

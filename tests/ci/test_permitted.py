"""What Kafka permits is shown wherever results are shown, apart from failures, and changes no verdict."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import informational, report, results, summary
from brokertrial.ci.reports.case_views import CaseViews
from brokertrial.ci.reports.details import details
from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.result import CaseResult


def late(number: int, name: str = "stale-read") -> Anomaly:
    return Anomaly(
        name=name,
        guarantee="repl-015",
        topic="t",
        partition=0,
        offsets=(number,),
        values=(),
        operations=(number, number + 1),
        sentence=f"the end was told {number} records late",
        strength="recency",
        attribution="broker",
    )


@pytest.fixture
def passed(state: RunState) -> CaseResult:
    """The case that passes, with four findings that nobody is accused of."""
    found = (late(5), late(6), late(7), late(8), late(9, "G0"))
    state.results[0] = msgspec.structs.replace(state.results[0], permitted=found)
    assert state.results[0].verdict is Verdict.PASS
    return state.results[0]


def test_a_run_counts_them_by_name_and_case(state: RunState, passed: CaseResult) -> None:
    rows = informational.informational_findings(state.results)

    assert [(row.name, row.count, row.cases) for row in rows] == [
        ("stale-read", 4, (passed.case,)),
        ("G0", 1, (passed.case,)),
    ]
    assert "stale-read 4 in 1 case, G0 1 in 1 case" in informational.line(state.results)
    assert informational.line(state.results[1:]) == ""


def test_they_are_told_as_no_failure_and_change_no_count(state: RunState, passed: CaseResult) -> None:
    before = msgspec.structs.replace(passed, permitted=())

    assert state.tally.line().startswith("1 passed, 2 failed")
    told = details(passed, "runs/x")
    assert "allowed by Kafka; not failures" in told and "and 1 more stale-read" in told and "5 records late" in told
    assert "allowed by Kafka" not in details(before, "runs/x")


def test_the_report_and_the_summary_have_a_part_for_them(state: RunState, passed: CaseResult) -> None:
    page, text = report.render(state, CaseViews(state)), summary.render(state)

    assert "<h2>Informational</h2>" in page and "5 informational findings (allowed by Kafka; not failures)" in page
    assert "8 records late" in page
    assert f'<a href="#{passed.case.replace("/", ".")}">' in page[page.index("<h2>Informational</h2>") :]
    assert f"- `stale-read` 4 times, in `{passed.case}`" in text
    state.results[0] = msgspec.structs.replace(passed, permitted=())
    assert "Informational" not in report.render(state, CaseViews(state))
    assert "Informational" not in summary.render(state)


def test_they_are_kept_in_the_results(tmp_path: Path, passed: CaseResult) -> None:
    line = msgspec.json.encode(results.ResultLine(passed))

    assert msgspec.json.decode(line, type=results.ResultLine).result.permitted == passed.permitted

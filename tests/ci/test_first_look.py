"""What a newcomer meets first: the console of a failed run, and the words of its report."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import known_failures, report
from brokertrial.ci.reports.case_views import CaseViews
from brokertrial.ci.reports.details import brief
from brokertrial.ci.reports.fault_words import worded
from brokertrial.ci.reports.left_out import NOT_SELECTED
from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.events import LeftOut, RunEvent, RunStarted
from brokertrial.suites.guarantees import registry
from brokertrial.suites.result import CaseResult, Evidence, Failure, Reason

AREA = re.compile(r'<details class="area"><summary>(.*?)</summary>')


def result(case: str, verdict: Verdict, *guarantees: str) -> CaseResult:
    reason = None if verdict is Verdict.PASS else Reason("unobserved", "too little was seen")
    return CaseResult(
        case=case, statement="It MUST.", guarantees=guarantees, level="must", verdict=verdict, reason=reason
    )


def areas(page: str) -> list[str]:
    """The headings of the areas as a reader sees them, but for the classes of what needs a look."""
    return [re.sub(r'<span class="quiet">', " | ", one).replace("</span>", "") for one in AREA.findall(page)]


def failed(results: tuple[CaseResult, ...]) -> CaseResult:
    """The failed trial of conftest, with one anomaly more and the operation that proves that."""
    case = next(one for one in results if one.anomalies)
    other = msgspec.structs.replace(case.anomalies[0], operations=(7,))
    evidence = (
        *case.evidence,
        Evidence("fault", "at the start: delay every message (15 ms)", at_s=3.0, window="f2"),
        Evidence("send", "t-0  value 1", "ok", 3.1, 7),
    )
    return msgspec.structs.replace(case, anomalies=(*case.anomalies, other), evidence=evidence)


def test_a_failure_shows_the_operations_of_the_anomaly_that_it_names_and_what_shows_more(
    results: tuple[CaseResult, ...],
) -> None:
    lines = [line.strip() for line in brief(failed(results), "RUN").splitlines()]
    assert any("(op 8812)" in line for line in lines) and not any("(op 7)" in line for line in lines)
    assert "... and 1 more in the report." in lines
    assert lines[-1] == "`brokertrial explain RUN/idempotence.lost-ack` and the report show more."
    assert any(line.startswith("fault") and "after the warm-up: delay every message" in line for line in lines)


def test_the_start_of_a_schedule_is_not_that_of_the_case(run_folder: Path, results: tuple[CaseResult, ...]) -> None:
    assert worded("fault f1 at the start: pause node 3") == "fault f1 after the warm-up: pause node 3"
    assert worded("at op 200: kill node 2") == "at op 200: kill node 2"
    state = RunState(run_folder)
    state.results = [failed(results)]
    page = report.render(state, CaseViews(state))
    assert "after the warm-up: delay every message (15 ms)" in page and "at the start:" not in page


def test_an_area_counts_guarantees_and_cases_and_has_a_name(run_folder: Path) -> None:
    of_848 = next(entry.id for entry in registry().values() if entry.area == "groups_848")
    state = RunState(run_folder)
    state.results = [
        result("commits/one", Verdict.PASS, "cmt-001", "cmt-002"),
        result("groups/two", Verdict.INCONCLUSIVE, "cmt-001", of_848),
    ]
    assert areas(report.render(state, CaseViews(state))) == [
        'commits | 2 guarantees, 2 cases: <span class="inconclusive">1 inconclusive, <span>1 passed',
        'groups, KIP-848 | 1 guarantee, 1 case: <span class="inconclusive">1 inconclusive',
    ]


def test_the_mark_of_an_exchange_is_not_broken_within_its_word() -> None:
    assert "table.steps td.note { overflow-wrap: normal; }" in report.style()


def test_of_cases_that_were_named_the_profile_is_a_size(run_folder: Path, told: list[RunEvent]) -> None:
    state, begin = RunState(run_folder), told[0]
    assert isinstance(begin, RunStarted)
    state.on(begin)
    assert "<dt>profile</dt><dd>smoke</dd>" in report.render(state, CaseViews(state))
    state.on(msgspec.structs.replace(begin, left_out=(LeftOut("a/1", NOT_SELECTED),)))
    page = report.render(state, CaseViews(state))
    assert "<dt>size of each</dt><dd>as in profile smoke</dd>" in page and "<dt>profile</dt>" not in page


@pytest.mark.parametrize("ways", [1, 3])
def test_a_case_that_fails_in_several_ways_needs_all_of_its_entries(
    ways: int, run_folder: Path, results: tuple[CaseResult, ...]
) -> None:
    several = tuple(Failure(f"statement:way {number}", f"It is wrong in way {number}.") for number in range(ways))
    case = next(one for one in results if one.case == "protocol/unknown-tag")
    state = RunState(run_folder)
    state.results = [msgspec.structs.replace(case, failures=several)]
    said = known_failures.pointer(state)
    assert (f"copy {ways} entries" if ways > 1 else "copy the entry") in said
    assert ("has an entry for each; all are needed." in said) is (ways > 1)

"""Views are computed within a budget, the worst failure first; what was not computed says so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from brokertrial.ci.reports import case_views, counterexample, report
from brokertrial.ci.reports.case_views import CaseViews
from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.events import CaseFinished
from brokertrial.suites.result import CaseResult


@pytest.fixture
def failed(results: tuple[CaseResult, ...]) -> CaseResult:
    return next(result for result in results if result.case == "idempotence/lost-ack")


def several(state: RunState, failed: CaseResult, count: int) -> None:
    for number in range(count):
        state.on(CaseFinished(msgspec.structs.replace(failed, case=f"idempotence/more-{number}")))


def test_the_budget_ends_the_search_and_each_card_says_so(
    state: RunState, failed: CaseResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, asked = [0.0], []

    def searched(folder: Path, anomaly: object, patience_s: float) -> counterexample.Counterexample:
        asked.append(patience_s)
        now[0] += 4.0
        return counterexample.Counterexample("<svg></svg>", "Minimised.")

    monkeypatch.setattr(counterexample, "counterexample", searched)
    several(state, failed, 3)
    progress: list[tuple[str, int, int]] = []
    state.on_progress = lambda *told: progress.append(told)
    views = CaseViews(state, budget_s=9.0, clock=lambda: now[0])
    views.complete()

    assert asked == [case_views.EACH_S, case_views.EACH_S, 1.0]
    sizes = [views.of(result).size for result in state.results if result.anomalies]
    assert [size.partition(":")[0] for size in sizes] == ["Minimised."] * 3 + ["It was not computed"]
    assert [told for told in progress if told[0] == "minimal counterexamples"] == [
        ("minimal counterexamples", number, 4) for number in range(4)
    ]
    assert "It was not computed: the 9 s for all counterexamples" in report.render(state, views)


def test_a_search_that_fails_is_a_line_of_its_card(
    state: RunState, failed: CaseResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*told: object, **more: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(counterexample, "minimise", broken)
    views = CaseViews(state)
    views.complete()

    assert views.of(failed).size == "It could not be computed: ZeroDivisionError: of ours"
    assert "It could not be computed: ZeroDivisionError: of ours" in report.render(state, views)


def test_a_history_that_cannot_be_read_is_said(state: RunState, failed: CaseResult) -> None:
    views = CaseViews(state)
    views.quick(msgspec.structs.replace(failed, history="histories/none"))

    assert views.of(failed).size.startswith("The history cannot be read: ")


def test_until_the_end_a_counterexample_is_announced(state: RunState, failed: CaseResult) -> None:
    views = CaseViews(state)
    views.quick(failed)

    assert "It is computed at the end of the run." in report.render(state, views)

"""What a report shows of a case beyond its result, computed before it is rendered, and within a budget of time.

    views = CaseViews(state)
    views.quick(result)             # the exchanges of a failed case: at once, milliseconds
    views.complete()                # counterexamples and timelines: at the end of the run, the worst failure first

A view that could not be made says why: a report never shows less without a word.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from brokertrial.checkers.anomaly import Anomaly
from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports.availability import Availability, availability
from brokertrial.ci.reports.causes import causes, harm_of_anomaly
from brokertrial.ci.reports.evidence import TimelineEntry
from brokertrial.ci.reports.exchange_steps import ExchangeStep, steps_of
from brokertrial.ci.reports.run_state import RunState
from brokertrial.ci.reports.timeline import timeline
from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History
from brokertrial.suites.result import CaseResult

BUDGET_S = 15.0
"""For all counterexamples of a run; the first case of each cause comes before the others."""
EACH_S = 4.0
"""For one of them; the search then stops with the smallest part that it has."""
TIMELINES_S = 5.0
"""For the timelines of a run, those of cases that did not pass first."""
AVAILABILITY_S = 5.0
"""For the figures of availability."""
PENDING = "It is computed at the end of the run."
NO_TIME = "It was not computed: the {budget:g} s for all counterexamples were spent. See the command `explain` below."


@dataclass(frozen=True)
class CaseView:
    """The computed parts of one card; texts are SVG or sentences, empty where there is nothing to show."""

    steps: tuple[ExchangeStep, ...] = ()
    counterexample: str = ""
    size: str = ""
    """How small the counterexample is, or why there is none."""
    untimed: tuple[TimelineEntry, ...] = ()
    """What of the counterexample has no time, and so no place in its picture: batches of the final read."""
    timeline: str = ""


class CaseViews:
    """The views of a run, each made once."""

    def __init__(
        self,
        state: RunState,
        budget_s: float = BUDGET_S,
        clock: Callable[[], float] = time.monotonic,
        timelines_s: float = TIMELINES_S,
    ) -> None:
        self._state = state
        self._budget_s, self._timelines_s = budget_s, timelines_s
        self._clock = clock
        self._views: dict[str, CaseView] = {}
        self.availability = Availability()

    def of(self, result: CaseResult) -> CaseView:
        """What is known so far."""
        return self._views.get(result.case, CaseView())

    def quick(self, result: CaseResult) -> None:
        """Takes in a result that was just made: what costs milliseconds."""
        if result.verdict is not Verdict.FAIL or not result.history:
            return
        view = CaseView(size=PENDING if result.anomalies else "")
        try:
            history = History.open(self._state.folder / result.history, allow_incomplete=True)
            view = replace(view, steps=tuple(steps_of(history, result)))
        except (HistoryRefused, OSError, ValueError) as error:
            view = CaseView(size=f"The history cannot be read: {error}.")
        self._views[result.case] = view

    def complete(self) -> None:
        """Everything else, as far as the budget reaches; says how far it is."""
        todo = self._by_harm()
        deadline = self._clock() + self._budget_s
        for number, result in enumerate(todo):
            self._state.report_progress("minimal counterexamples", number, len(todo))
            self._minimise(result, deadline)
        trials = [result for result in self._state.results if result.history and result.schedule]
        drawn = sorted(trials, key=lambda result: result.verdict is Verdict.PASS)
        deadline = self._clock() + self._timelines_s
        for number, result in enumerate(drawn):
            if self._clock() < deadline:
                self._state.report_progress("timelines", number, len(drawn))
                self._change(result, timeline=timeline(self._state.folder / result.history))

        self.availability = availability(self._state, self._clock() + AVAILABILITY_S, self._clock)

    def _by_harm(self) -> list[CaseResult]:
        """The failed trials: the first of each cause, the worst cause first, then the others."""
        tally = self._state.tally
        failed = [result for result in (*tally.failed, *tally.warned, *tally.known) if result.anomalies]
        found = causes([result for result in failed if result.history])
        return [*(cause.results[0] for cause in found), *(one for cause in found for one in cause.results[1:])]

    def _minimise(self, result: CaseResult, deadline: float) -> None:
        from brokertrial.ci.reports.counterexample import counterexample  # brings DuckDB along: a green run needs none

        left_s = deadline - self._clock()
        if left_s <= 0:
            self._change(result, size=NO_TIME.format(budget=self._budget_s))
            return
        folder = self._state.folder / result.history
        found = counterexample(folder, worst_first(result.anomalies)[0], min(left_s, EACH_S))
        self._change(result, counterexample=found.picture, size=found.size, untimed=found.untimed)

    def _change(self, result: CaseResult, **parts: Any) -> None:
        self._views[result.case] = replace(self.of(result), **parts)


def worst_first(anomalies: Sequence[Anomaly]) -> list[Anomaly]:
    """The order in which a card shows them; the first is minimised. What a client did comes last."""
    return sorted(anomalies, key=lambda anomaly: (anomaly.attribution != "broker", harm_of_anomaly(anomaly)))

"""The console: a live line on a terminal, plain lines elsewhere; at the end the table of verdicts and the last line."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import informational, known_failures
from brokertrial.ci.reports.causes import by_harm, causes, ways_of
from brokertrial.ci.reports.details import bounded, brief, details, headline
from brokertrial.ci.reports.fault_words import worded
from brokertrial.ci.reports.left_out import CHOSEN, by_reason, chosen_by
from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.events import (
    CaseFinished,
    CaseStarted,
    PhaseChanged,
    RunEvent,
    RunFinished,
    RunStarted,
    TrialProgress,
)
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.result import CaseResult

STYLE = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_APPLICABLE: "dim",
}
COLUMNS = (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
MOST_LEFT_OUT = 8
MOST_CASES = 6
"""Of one cause, or of several that only warn."""
LAST = True  # it reports what the other writers could not write


class Screen(Console):
    """A console that goes quiet when its reader is gone, as in `| head`; the run goes on."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class ConsoleWriter:
    """Prints the run while it happens."""

    def __init__(
        self, state: RunState, console: Console, live: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._state = state
        self._console = console
        self._clock = clock
        self._repeated = 0
        self._met: dict[str, str] = {}
        self._line = StatusLine(clock)
        state.on_progress = self._progress
        self._live = Live(self._line, console=console, refresh_per_second=8, transient=True) if live else None

    def on(self, event: RunEvent) -> None:
        self._line.on(event)
        match event:
            case RunStarted():
                self._begin(event)
            case CaseStarted() if event.attempt > 1 and not self._live:
                self._say(f"      {event.case}: again, attempt {event.attempt}", "dim")
            case CaseFinished():
                self._result(event.result)
            case RunFinished():
                self._finish(event)

    def close(self) -> None:
        """Gives the terminal back, also when the run never finished."""
        if self._live:
            self._live.stop()
        self._flush()

    def _begin(self, run: RunStarted) -> None:
        self._repeated = run.told_again
        if not run.told_again:
            self._announce(run)
        if self._live:
            self._live.start()

    def _announce(self, run: RunStarted) -> None:
        self._say(f"Target: {run.target}, version {run.target_version or 'not stated'}", "bold")
        takes = f"about {duration(run.estimate_s)} on a healthy target"
        if run.limit_s > run.estimate_s:
            takes += f", at most {duration(run.limit_s)} on one that fails"
        pairs = sum("@" in entry.case for entry in run.cases)
        plain = len(run.cases) - pairs
        count = f"{plain} case{'' if plain == 1 else 's'}" + (f", {pairs} times one in a situation" if pairs else "")
        self._say(f"{count}, {chosen_by(run)}, {takes}; {self._state.place}")
        for line in by_reason(run.left_out, MOST_LEFT_OUT, without=CHOSEN):
            self._say(f"Not run: {line}", "dim")
        self._say("")

    def _result(self, result: CaseResult) -> None:
        if self._repeated:
            self._repeated -= 1
            return
        if result in self._state.tally.known:
            self._say(headline(result, "known"), STYLE[Verdict.INCONCLUSIVE])
            return
        if result.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE):
            if "@" not in result.case:  # of pairs there are too many: they are counted
                self._say(headline(result), STYLE[result.verdict])
            return
        if result.verdict is Verdict.FAIL:
            key = ways_of(result)[0][0]
            text = brief(result, self._state.place, self._met.get(key, ""))
            self._met.setdefault(key, result.case)
        else:
            text = bounded(details(result, self._state.place), result, self._state.place)
        head, _, proof = text.partition("\n")
        self._say(head, STYLE[result.verdict])
        if proof:
            self._say(proof)

    def _progress(self, what: str, done: int, total: int) -> None:
        """What the report writer does after the last case."""
        self._line.working = f"report: {what} {done + 1} of {total}"
        if not self._live and done == 0:
            self._say(f"Computing {total} {what if total > 1 else what[:-1]} for the report ...", "dim")

    def _finish(self, end: RunFinished) -> None:
        if self._live:
            self._live.stop()
        tally = self._state.tally
        self._say("")
        self._causes()
        if self._state.results:
            self._console.print(verdict_table(self._state.results))
        for result in tally.known:
            for entry in self._state.known.reasons(result):
                self._say(f"known  {result.case}: {entry.failure} ({entry.reason})", "dim")
        for stale in tally.stale:
            self._say(self._state.known.sentence(stale), "red")
        if pointer := known_failures.pointer(self._state):
            self._say(pointer)
        if listed := informational.line(self._state.results):
            self._say(listed, "dim")
        for what, why in self._state.broken.items():
            self._say(f"brokertrial: {what} could not be written: {why}", "red")
        if end.error:
            self._say(f"brokertrial: {end.error}", "red")
            for line in end.tail:
                self._say(f"    | {line}", "dim")
        else:
            for note in end.tail:
                self._say(f"brokertrial: {note}", "yellow")
        if self._state.run:
            self._say(f"Report: {self._state.place}/report.html")
        status = self._state.status
        style = "green" if status == ExitStatus.PASSED else "bold red" if status == ExitStatus.FAILED else "yellow"
        meaning = f" = {self._state.meaning}" if self._state.meaning else ""
        ended = "" if self._state.in_gate else f"; exit status {status}{meaning}"
        self._say(f"{tally.line()}; {duration(end.duration_s)}{ended}", style)
        self._flush()

    def _causes(self) -> None:
        """All failures by their cause, the most harmful first."""
        tally = self._state.tally
        number = 0
        for title, results, style in (
            ("Causes, most harmful first", tally.failed, "bold red"),
            ("Warnings (a `should` was violated)", tally.warned, "yellow"),
        ):
            if not results:
                continue
            self._say(title, style)
            for heading, some in by_harm(causes(results, self._state.results)):
                self._say(f"  {heading}", "bold")
                for cause in some:
                    number += 1
                    blocked = f" ({len(cause.blocked)} more could not be judged)" if cause.blocked else ""
                    self._say(f"  {number:>3}  {cause.count}{blocked}: {cause.title}")
                    self._say(f"       {_listed([result.case for result in cause.results])}", "dim")
            self._say("")

    def _flush(self) -> None:
        try:
            self._console.file.flush()
        except BrokenPipeError:
            self._console.quiet = True

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)


class StatusLine:
    """The one moving line: cases under way, phase, acknowledged operations, active fault, time left."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._active: dict[str, ActiveCase] = {}
        self._estimates: dict[str, float] = {}
        self.working = ""
        """What is done after the last case."""

    def on(self, event: RunEvent) -> None:
        match event:
            case RunStarted():
                self._estimates = {info.case: info.estimate_s for info in event.cases}
            case CaseStarted():
                self._active[event.case] = ActiveCase(event, self._clock())
            case PhaseChanged() if active := self._active.get(event.case):
                active.phase = event.phase
            case TrialProgress() if active := self._active.get(event.case):
                active.progress = event
            case CaseFinished():
                self._estimates.pop(event.result.case, None)
                self._active.pop(event.result.case, None)

    def left_s(self) -> float:
        """The estimates of what is still to come, less what the cases under way have used of their own."""
        left = dict(self._estimates)
        for name, active in list(self._active.items()):  # drawn by a thread of its own
            left[name] = max(0.0, left.get(name, 0.0) - (self._clock() - active.began))
        return sum(left.values()) / max(1, len(self._active))

    def __rich__(self) -> Text:
        if self.working:
            return Text(self.working, style="cyan", no_wrap=True, overflow="ellipsis")
        if not self._active:
            return Text("starting the target ...", style="dim")
        last = list(self._active.values())[-1]
        parts = [f"[{last.started.index}/{last.started.total}] about {duration(self.left_s())} left"]
        if len(self._active) > 1:
            parts += [f"{len(self._active)} cases", *sorted(self._active)]
        else:
            parts += last.parts()
        return Text("  ".join(parts), style="cyan", no_wrap=True, overflow="ellipsis")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_CASES} more" if len(names) > MOST_CASES else ""
    return ", ".join(names[:MOST_CASES]) + more


@dataclass
class ActiveCase:
    """A case that is under way."""

    started: CaseStarted
    began: float
    phase: str = ""
    progress: TrialProgress | None = None

    def parts(self) -> list[str]:
        """What the line says of it; active faults last, for a narrow terminal cuts the end."""
        said = [self.started.case]
        said += [f"attempt {self.started.attempt}"] if self.started.attempt > 1 else []
        said += [self.phase] if self.phase else []
        if self.progress:
            said += [f"{self.progress.acked:,} acknowledged", *(f"! {worded(fault)}" for fault in self.progress.active)]
        return said


def verdict_table(results: list[CaseResult]) -> Table:
    """Areas by verdicts."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("area")
    for verdict in COLUMNS:
        table.add_column(verdict.name.lower().replace("_", " "), justify="right")
    for area in dict.fromkeys(result.case.partition("/")[0] for result in results):
        verdicts = [result.verdict for result in results if result.case.partition("/")[0] == area]
        counts = [(verdict, verdicts.count(verdict)) for verdict in COLUMNS]
        table.add_row(area, *(Text(str(count or "·"), style=STYLE[v] if count else "dim") for v, count in counts))
    return table


def duration(seconds: float) -> str:
    """`42 s`, `3 min 5 s`."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def writer(state: RunState) -> ConsoleWriter:
    """Live on a terminal that is not a CI log, plain lines elsewhere."""
    console = Screen(file=sys.stdout, highlight=False, emoji=False, markup=False)
    live = console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI")
    return ConsoleWriter(state, console, live)

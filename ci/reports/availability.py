"""How available the target stayed: for each kind of fault of a run, the longest gap and the time to be fast again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from brokertrial.ci.reports.run_state import RunState
from brokertrial.histories.availability import QUERY, FaultKindSummary, Profile, by_history, kinds, profile
from brokertrial.histories.header import HistoryRefused
from brokertrial.histories.reader import History

WITHOUT_FAULTS = ("", "[]", "{}", "null")
TOGETHER = 4
"""Histories of one question: between two of them the time is looked at."""


@dataclass(frozen=True)
class Availability:
    """A row for each kind of fault, the worst first; and the histories for which there was no time."""

    rows: list[FaultKindSummary] = field(default_factory=list)
    left_out: int = 0


def availability(state: RunState, deadline: float, clock: Callable[[], float] = time.monotonic) -> Availability:
    """By the definitions of histories/availability.py, over the histories with faults; until the deadline."""
    folders = [state.folder / each.history for each in state.results if each.schedule not in WITHOUT_FAULTS]
    histories = list(_opened(folder for folder in folders if folder.is_dir()))
    found: list[Profile] = []
    for begin in range(0, len(histories), TOGETHER):
        if clock() >= deadline:
            return Availability(kinds(found), len(histories) - begin)
        state.report_progress("availability figures", begin, len(histories))
        found += [each for each in profiles(histories[begin : begin + TOGETHER]) if each is not None]
    return Availability(kinds(found))


def profiles(histories: Sequence[History]) -> list[Profile | None]:
    """The profile of each history; None for one in which nothing was acknowledged."""
    from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine  # a run without faults needs none

    with DuckDBEngine.over(histories) as duck:
        rows = by_history(duck.ask(QUERY))
    return [profile(rows.get(number, ()), history) for number, history in enumerate(histories)]


def _opened(folders: Iterable[Path]) -> Iterator[History]:
    for folder in folders:
        try:
            yield History.open(folder)
        except (HistoryRefused, OSError):
            continue  # its case did not pass, and says why

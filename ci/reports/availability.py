"""How available the target stayed: for each kind of fault of a run, the longest gap and the time to be fast again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from checkers.engines.duckdb_engine import DuckDBEngine
from ci.reports.run_state import RunState
from histories.availability import QUERY, FaultKindSummary, by_history, kinds, profile
from histories.header import HistoryRefused
from histories.reader import History

WITHOUT_FAULTS = ("", "[]", "{}", "null")


def availability(state: RunState) -> list[FaultKindSummary]:
    """A row for each kind of fault that was injected, by the definitions of histories/availability.py; the worst
    first."""
    folders = [state.folder / each.history for each in state.results if each.schedule not in WITHOUT_FAULTS]
    histories = list(_opened(folder for folder in folders if folder.is_dir()))
    if not histories:
        return []
    with DuckDBEngine.over(histories) as duck:
        rows = by_history(duck.ask(QUERY))
    profiles = (profile(rows.get(number, ()), history) for number, history in enumerate(histories))
    return kinds(each for each in profiles if each is not None)


def _opened(folders: Iterable[Path]) -> Iterator[History]:
    for folder in folders:
        try:
            yield History.open(folder)
        except (HistoryRefused, OSError):
            continue  # its case is not green, and says why

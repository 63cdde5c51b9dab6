"""A whole run in this process: a target string, some cases, and what came of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from brokertrial.faults.schedule import Schedule, Window
from brokertrial.suites.case import Case, by_id
from brokertrial.suites.events import RunEvent
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run


def results_of(
    target: str,
    folder: Path,
    cases: Iterable[str | Case],
    *,
    through: Iterable[Window] = (),
    claims: Mapping[str, bool] | None = None,
) -> dict[str, CaseResult]:
    """Result by case id, the run's own (`claims/...`) among them; the proof is not asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    schedule = folder / "through.json"
    schedule.write_bytes(msgspec.json.encode(Schedule.of(*through)))
    options = RunOptions(
        target,
        run_dir=str(folder / "run"),
        seed=7,
        claims=claims or {},
        unproven="fail",
        through=str(schedule) if through else None,
        jobs=1,
    )
    chosen = [by_id()[entry] if isinstance(entry, str) else entry for entry in cases]
    events: list[RunEvent] = []
    found = {result.case: result for result in run(options, events.append, cases=chosen).results}
    assert found, events
    return found

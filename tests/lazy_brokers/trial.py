"""A lazy broker on trial: what came of each case, and how the run ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from brokertrial.ci.reports.run_state import RunState
from brokertrial.suites.case import by_id
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run

LAZY = Path(__file__).with_name("lazy.py")


@dataclass(frozen=True)
class Ended:
    """A run that is over."""

    status: int
    line: str
    results: dict[str, CaseResult]

    @property
    def failed(self) -> set[str]:
        return {name for name, result in self.results.items() if result.is_failure}


def tried(
    folder: Path,
    trick: str,
    *cases: str,
    hidden: Sequence[str] = (),
    planted: str = "",
    claims: Mapping[str, bool] | None = None,
    require: tuple[str, ...] = ("core",),
    min_decided: float = 0.0,
) -> Ended:
    """Starts the broker as a file: target would start anybody's, runs the cases, and says how it ended."""
    node = ["node", "--node-id={node}", "--port={port}", "--data={data}", f"--without={','.join(hidden)}"]
    node += [f"--mutant={planted}"] if planted else []
    file = folder / "lazy.toml"
    file.write_text(f"start = {json.dumps([sys.executable, '-P', str(LAZY), trick, *node])}\n", encoding="utf-8")
    options = RunOptions(
        f"file:{file}",
        run_dir=str(folder / "run"),
        seed=7,
        claims=claims or {},
        unproven="fail",
        require=require,
    )
    story = RunState(folder, min_decided=min_decided)
    run(options, story.on, cases=[by_id()[case] for case in cases])
    assert story.end is not None and story.results, story.end
    return Ended(story.status, story.tally.line(), {result.case: result for result in story.results})

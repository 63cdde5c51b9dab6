"""What a failing broker costs: how long a trial took to its verdict, and within which time it must come to one.

    python -m campaigns.failing_brokers [--seed 5] [--only WORD ...]

A row for each planted bug that a trial catches, on the first trial that names it, and for brokers that stop answering,
die, or never assign anything to a member of a group. `healthy` is what a target that works takes (the estimate that a
run prints), `limit` what is allowed for a failing one (the sum of these is the limit that a run prints): the longest
that the load and the recovery of the trial may last, and 20 s to read, to judge and to start a sick target anew. The
last line has the worst ratios; exit status 1 where a row took longer than its limit, or all planted bugs together more
than twice their estimates.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import Case, by_id
from brokertrial.suites.events import PhaseChanged
from brokertrial.suites.proving import mutants
from brokertrial.suites.running.estimates import healthy_s, limit_s
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run

MOST = 2.0
LAZY = Path(__file__).parents[1] / "tests" / "lazy_brokers" / "lazy.py"
NODE = ("node", "--node-id={node}", "--port={port}", "--data={data}")
BROKEN = {
    "falls-silent": ("produce/acked-survive-a-kill", "transactions/lost-end-answers", "commits/lost-answers"),
    "dies-at-work": ("produce/acked-survive-a-kill", "ordering/pipelined-sends", "groups/churn-delivers-everything"),
    "assigns-nothing": ("groups/churn-delivers-everything", "groups/member-cut-off", "groups/coordinator-killed"),
}
LINE = "{:<20} {:<46} {:>8} {:>8} {:>8} {:>8}  {}"


@dataclass(frozen=True)
class Row:
    """One case on one broker."""

    broker: str
    target: str
    case: Case


@dataclass(frozen=True)
class Cost:
    """Seconds."""

    healthy_s: float
    limit_s: float
    took_s: float
    planted: bool


def main() -> int:
    """Runs every row and prints what it cost."""
    options = _options()
    costs: list[Cost] = []
    print(LINE.format("broker", "case", "healthy", "limit", "actual", "of limit", "verdict"), flush=True)
    with Scratch("failing") as folder:
        for number, row in enumerate(_rows(Path(folder))):
            if options.only and not any(word in row.broker for word in options.only):
                continue
            costs.append(_tried(row, Path(folder, str(number)), options.seed))
    worst = max(cost.took_s / cost.limit_s for cost in costs)
    planted = [cost for cost in costs if cost.planted]
    ratio = sum(c.took_s for c in planted) / max(sum(c.healthy_s for c in planted), 0.001)
    print(f"{len(costs)} rows; worst {worst:.2f} of its limit; planted bugs together {ratio:.2f} of their estimates")
    return 1 if worst > 1 or ratio > MOST else 0


def _rows(folder: Path) -> Iterator[Row]:
    for name in mutants.mutants():
        trials = [(word, case) for word, case in mutants.catchers(name) if case.kind == "trial"]
        for word, case in trials[:1]:
            yield Row(word, mutants.planted(case, word), case)
    for trick, cases in BROKEN.items():
        file = folder / f"{trick}.toml"
        file.write_text(f"start = {json.dumps([sys.executable, '-P', str(LAZY), trick, *NODE])}\n", encoding="utf-8")
        for name in cases:
            yield Row(trick, f"file:{file}", by_id()[name])


def _tried(row: Row, folder: Path, seed: int) -> Cost:
    options = RunOptions(row.target, seed=seed, select=(row.case.id,), run_dir=str(folder), unproven="fail")
    phases: list[tuple[float, str]] = []

    def note(event: object) -> None:
        if isinstance(event, PhaseChanged):
            phases.append((time.monotonic(), event.phase))

    found = [result for result in run(options, note).results if result.case == row.case.id]
    said, took = "the target never became ready", 0.0
    for result in found:
        took = result.duration_s
        reason = f" {result.reason.kind}: {result.reason.sentence[:90]}" if result.reason else ""
        said = f"{result.verdict}{reason}, {len(result.attempts)} attempts; {_lasted(phases)}"
    healthy, limit = healthy_s(row.case, options.profile), limit_s(row.case, options.profile)
    figures = (f"{healthy:.1f}", f"{limit:.0f}", f"{took:.1f}", f"{took / limit:.2f}")
    print(LINE.format(row.broker, row.case.id, *figures, said), flush=True)
    return Cost(healthy, limit, took, row.broker not in BROKEN)


def _lasted(phases: list[tuple[float, str]]) -> str:
    ends = [at for at, _ in phases[1:]] + [time.monotonic()]
    return ", ".join(f"{phase} {end - at:.0f} s" for (at, phase), end in zip(phases, ends, strict=True))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="brokers whose name has it")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""What a failing broker costs: the estimate of a trial, and how long it took to its verdict.

    python bench/failing_brokers.py [--seed 5] [--only WORD ...]

A row for each planted bug that a trial catches, on the first trial that names it, and for brokers that stop answering,
die, or never assign anything to a member of a group. The last line is the worst ratio; exit status 1 above 2.
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
from brokertrial.suites.running.run import Options, Run

MOST = 2.0
LAZY = Path(__file__).parents[1] / "tests" / "lazy_brokers" / "lazy.py"
NODE = ("node", "--node-id={node}", "--port={port}", "--data={data}")
BROKEN = {
    "falls-silent": ("produce/acked-survive-a-kill", "transactions/lost-end-answers", "commits/lost-answers"),
    "dies-at-work": ("produce/acked-survive-a-kill", "ordering/pipelined-sends", "groups/churn-delivers-everything"),
    "assigns-nothing": ("groups/churn-delivers-everything", "groups/member-cut-off", "groups/coordinator-killed"),
}
LINE = "{:<34} {:<48} {:>8} {:>8} {:>6}  {}"


@dataclass(frozen=True)
class Row:
    """One case on one broker."""

    broker: str
    target: str
    case: Case


def main() -> int:
    """Runs every row and prints its ratio."""
    options = _options()
    ratios: list[float] = []
    print(LINE.format("broker", "case", "estimate", "actual", "ratio", "verdict"), flush=True)
    with Scratch("failing") as folder:
        for number, row in enumerate(_rows(Path(folder))):
            if options.only and not any(word in row.broker for word in options.only):
                continue
            ratios.append(_tried(row, Path(folder, str(number)), options.seed))
    print(f"{len(ratios)} rows; worst ratio {max(ratios):.2f}, mean {sum(ratios) / len(ratios):.2f}")
    return 1 if max(ratios) > MOST else 0


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


def _tried(row: Row, folder: Path, seed: int) -> float:
    asked = Options(row.target, seed=seed, select=(row.case.id,), run_dir=str(folder), unproven="fail")
    phases: list[tuple[float, str]] = []

    def note(event: object) -> None:
        if isinstance(event, PhaseChanged):
            phases.append((time.monotonic(), event.phase))

    run = Run(asked, note)
    run.choose([row.case])
    said, took = "the target never became ready", 0.0
    try:
        if run.start():
            began = time.monotonic()
            result = run.run(row.case)
            took = time.monotonic() - began
            reason = f" {result.reason.kind}: {result.reason.sentence[:90]}" if result.reason else ""
            said = f"{result.verdict}{reason}, {len(result.attempts)} attempts; {_lasted(phases)}"
    finally:
        run.finish()
    estimate = run.estimate(row.case)
    print(
        LINE.format(row.broker, row.case.id, f"{estimate:.1f}", f"{took:.1f}", f"{took / estimate:.2f}", said),
        flush=True,
    )
    return took / estimate


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

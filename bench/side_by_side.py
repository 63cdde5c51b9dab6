"""The same cases one after the other and side by side: how long each way takes, and whether the verdicts are the same.

    python -m bench.side_by_side reference --times 5 [--jobs N] [--select 'offsets/*'] [--profile full] [--free]

`--free` leaves out what has the target to itself (suites/running/needs_cluster.py). Every run has the same seed; the
verdicts are compared case by case. Exit status 1 when two runs differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import all_cases
from brokertrial.suites.probe.prerequisites import OWNERS
from brokertrial.suites.running.needs_cluster import why_alone
from brokertrial.suites.running.options import RunOptions, default_jobs
from brokertrial.suites.running.run import run

LINE = "{:>5} {:>5} {:>9}  {:<60} {}"


@dataclass(frozen=True)
class Came:
    """One run."""

    jobs: int
    seconds: float
    verdicts: Mapping[str, str]
    again: tuple[str, ...]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs, prints a line a run and one for each difference."""
    options = _options(argv)
    print(LINE.format("run", "jobs", "seconds", "verdicts", "more than one attempt"), flush=True)
    came: list[Came] = []
    for number in range(1, options.times + 1):
        for jobs in (1, options.jobs):
            one = _run(options, jobs)
            counted = ", ".join(f"{n} {verdict}" for verdict, n in Counter(one.verdicts.values()).most_common())
            print(LINE.format(number, jobs, f"{one.seconds:.1f}", counted, ", ".join(one.again)), flush=True)
            came.append(one)
    differing = _differing(came)
    print("\n".join(differing) or f"{len(came)} runs of {len(came[0].verdicts)} cases: the same verdicts")
    return 1 if differing else 0


def _run(options: argparse.Namespace, jobs: int) -> Came:
    free = tuple(case.id for case in all_cases() if not why_alone(case) or case.id in OWNERS)
    with Scratch("side-by-side") as folder:
        began = time.monotonic()
        result = run(
            RunOptions(
                options.target,
                select=free if options.free else tuple(options.select),
                profile=options.profile,
                seed=options.seed,
                jobs=jobs,
                keep="failed",
                run_dir=str(Path(folder, "run")),
            )
        )
    again = tuple(one.case for one in result.results if len(one.attempts) > 1)
    verdicts = {one.case: str(one.verdict) for one in result.results}
    return Came(jobs, time.monotonic() - began, verdicts, again)


def _differing(came: Sequence[Came]) -> list[str]:
    """A line for each case on which two runs differ."""
    found: list[str] = []
    for case in sorted({name for one in came for name in one.verdicts}):
        told = [(one.jobs, one.verdicts.get(case, "no result")) for one in came]
        if len({verdict for _, verdict in told}) > 1:
            found.append(f"{case}: " + ", ".join(f"{verdict} (jobs {jobs})" for jobs, verdict in told))
    return found


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("target")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=default_jobs())
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--select", action="append", default=[])
    parser.add_argument("--profile", choices=("smoke", "full"), default="full")
    parser.add_argument("--free", action="store_true", help="only cases that may run beside others")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())

"""Twelve planted bugs: does a failure come back when it is provoked again, and does judging it again say the same?

    python -m campaigns.replays [M05 M09 ...] [--times 10] [--first-seed 1]

For each bug a case that names it is run until it fails (once, as it should), replayed so many times with its seed and
schedule, and judged again so many times. Targets: nine of ten replays show the same anomaly, the rest say that they do
not; every judgement gives the identical text and status. Exit status 1 when one is missed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from brokertrial.suites.case import Case, all_cases
from brokertrial.suites.exit_status import ExitStatus

BUGS = ("M01a", "M05", "M06", "M07a", "M09", "M15a", "M17", "M19a", "M21", "M23", "M30a", "M37a")
SHARE = 0.9
LINE = "{:<6} {:<44} {:>12}  {:>12}  {:>7}  {}"
FAILED = 1
LIMIT_S = 3_600.0
SAID = re.compile(r"^(\d+) of (\d+) reproduced (.+?)\.", re.MULTILINE)


class Row(msgspec.Struct):
    """What was seen of one bug."""

    bug: str
    case: str
    anomaly: str = "none: the case did not fail"
    replayed: int = 0
    unsaid: int = 0
    """Replays that neither reproduced it nor said so."""
    judgements: int = 0
    seconds: float = 0.0


def main() -> int:
    """Runs, replays, judges, prints."""
    options = _options()
    times = options.times
    print(LINE.format("bug", "case", "same anomaly", "judged alike", "seconds", f"anomaly ({times} times each)"))
    missed = False
    with tempfile.TemporaryDirectory(prefix="brokertrial-replays-") as scratch:
        for bug in options.bugs or BUGS:
            row = _tried(bug, times, options.first_seed, Path(scratch))
            good = row.replayed >= SHARE * times and not row.unsaid and row.judgements == 1
            missed |= not good
            alike = "yes" if row.judgements == 1 else f"{row.judgements} ways"
            words = (f"{row.replayed} of {times}", alike, f"{row.seconds:.1f}", row.anomaly)
            print(LINE.format(row.bug, row.case, *words), "" if good else "  <- MISSED", flush=True)
    return 1 if missed else 0


def _tried(bug: str, times: int, seed: int, scratch: Path) -> Row:
    began = time.monotonic()
    case = case_for(bug)
    row = Row(bug, case.id)
    runs = scratch / bug
    status, said = _brokertrial(
        "run", "--target", f"reference?mutant={bug}", "--select", case.id, "--seed", str(seed), "--runs", str(runs)
    )
    found = sorted(runs.glob("*/results.jsonl"))
    if status == ExitStatus.FAILED and found:
        place = f"{found[0].parent}/{case.id}"
        row.judgements = len({_brokertrial("check", place) for _ in range(times)})
        _, said = _brokertrial("replay", place, "--times", str(times), "--runs", str(runs / "again"))
        if (last := SAID.search(said)) is not None:
            row.replayed, row.anomaly = int(last[1]), last[3]
            row.unsaid = times - row.replayed - said.count("not reproduced (")
    row.seconds = time.monotonic() - began
    return row


def case_for(bug: str) -> Case:
    """The case to show a bug with: one under faults, where clients race, before one that asks step by step."""
    named = [case for case in all_cases() if bug in case.bugs]
    if not named:
        raise SystemExit(f"{bug}: no case names it; `brokertrial broker mutants` lists the planted bugs.")
    return min(named, key=lambda case: case.kind != "trial")


def _brokertrial(*words: str) -> tuple[int, str]:
    command = [sys.executable, "-P", "-c", "from brokertrial.ci.cli import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="which ones (default: the twelve)")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""How often a run on a healthy broker is red or undecided: full runs with other seeds, one row each in a table.

    python -m bench.healthy_runs TARGET [--runs 20] [--seed 1] [--busy] [--table docs/healthy-runs.md] [--keep FOLDER]

A row that the table has already, for this commit, target and load, is not run again: say it again to go on, another
day or on another machine. `--busy` keeps every core at work beside the run. Of a run that is not green the folder is
kept. Exit status 1 if any run of this commit had a failure.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from brokertrial import RunOptions, RunResult, run
from brokertrial.suites.exit_status import ExitStatus

ROOT = Path(__file__).resolve().parents[1]
HEAD = "| commit | day | target | seed | cores | passed | failed | inconclusive | not applicable | min | not passed |"
RULE = "|---|---|---|---|---|---|---|---|---|---|---|"


class Row(msgspec.Struct, frozen=True):
    """One run."""

    commit: str
    day: str
    target: str
    seed: int
    cores: str
    """`busy`: others kept every core at work; `free`: no one did on purpose."""
    passed: int
    failed: int
    inconclusive: int
    not_applicable: int
    minutes: float
    not_passed: str = ""

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What is not run twice."""
        return self.commit, self.target, self.seed, self.cores

    def line(self) -> str:
        """As a row of the table."""
        target = f"`{self.target}`"
        cells = (*msgspec.structs.astuple(self)[:2], target, *msgspec.structs.astuple(self)[3:])
        return f"| {' | '.join(map(str, cells))} |"

    @classmethod
    def parsed(cls, line: str) -> Row:
        """The row of a line; raises msgspec.ValidationError for one that is none."""
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        return msgspec.convert(dict(zip(cls.__struct_fields__, cells, strict=True)), cls, strict=False)


def main() -> int:
    """Runs what is missing, and writes the table after each run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--table", type=Path, default=ROOT / "docs" / "healthy-runs.md")
    parser.add_argument("--keep", type=Path, default=ROOT / "runs" / "healthy")
    asked = parser.parse_args()
    commit, cores = _commit(), "busy" if asked.busy else "free"
    for seed in range(asked.seed, asked.seed + asked.runs):
        if (commit, asked.target, seed, cores) in {row.key for row in rows(asked.table)}:
            continue
        with _busy() if asked.busy else nullcontext():
            row = _run(commit, asked.target, seed, cores, asked.keep)
        print(row.line(), flush=True)
        asked.table.write_text(page([*rows(asked.table), row]), encoding="utf-8")
    return int(any(row.failed for row in rows(asked.table) if row.commit == commit))


def rows(table: Path) -> list[Row]:
    """What a table holds."""
    lines = table.read_text(encoding="utf-8").splitlines() if table.exists() else []
    return [Row.parsed(line) for line in lines[lines.index(RULE) + 1 :] if line.startswith("|")] if lines else []


def page(kept: list[Row]) -> str:
    """The page, with what the rows come to."""
    ordered = sorted(kept, key=lambda row: (row.target, row.commit, row.cores, row.seed))
    parts = ["# Full runs on healthy brokers", "", __doc__.splitlines()[0].strip(), "", *_summed(ordered), ""]
    return "\n".join([*parts, HEAD, RULE, *(row.line() for row in ordered)]) + "\n"


def _summed(ordered: list[Row]) -> Iterator[str]:
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in ordered:
        groups.setdefault((row.target, row.commit, row.cores), []).append(row)
    for (target, commit, cores), of_it in groups.items():
        judged = sum(row.passed + row.failed + row.inconclusive for row in of_it)
        undecided = sum(row.inconclusive for row in of_it)
        yield (
            f"- `{target}` at {commit}, cores {cores}: {len(of_it)} runs, {sum(row.failed for row in of_it)} failures, "
            f"{undecided} of {judged} inconclusive ({undecided / judged:.2%})."
        )


def _run(commit: str, target: str, seed: int, cores: str, keep: Path) -> Row:
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="brokertrial-healthy-"))
    try:
        result = run(RunOptions(target, profile="full", seed=seed, runs=str(folder), keep="failed"))
        row = _row(result, commit, target, seed, cores, (time.monotonic() - began) / 60)
        if result.status == ExitStatus.INTERRUPTED:
            sys.exit("The run was interrupted: it has no row.")
        if result.status:
            keep.mkdir(parents=True, exist_ok=True)
            shutil.move(result.folder, keep / f"{commit}-{seed}-{cores}-{result.folder.name}")
        return row
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _row(result: RunResult, commit: str, target: str, seed: int, cores: str, minutes: float) -> Row:
    counted = Counter(str(one.verdict) for one in result.results)
    not_passed = [one for one in result.results if one.verdict in ("fail", "inconclusive")]
    return Row(
        commit,
        f"{datetime.now(UTC):%Y-%m-%d}",
        target,
        seed,
        cores,
        counted["pass"],
        counted["fail"],
        counted["inconclusive"],
        counted["not applicable"],
        round(minutes, 1),
        "; ".join(f"{one.case}: {one.verdict}" for one in not_passed),
    )


@contextmanager
def _busy() -> Iterator[None]:
    """Every core is at work."""
    workers = [multiprocessing.Process(target=_work, daemon=True) for _ in range(os.cpu_count() or 1)]
    try:
        for worker in workers:
            worker.start()
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def _work() -> None:
    while True:
        sum(range(100_000))


def _commit() -> str:
    """Of a checkout without changes in what a run uses."""
    if [line for line in _git("status", "--porcelain", "--untracked-files=no") if not line.endswith(".md")]:
        sys.exit("The checkout has changes; a row says which commit was run. Commit them first.")
    return _git("rev-parse", "--short=8", "HEAD")[0]


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, text=True, capture_output=True, check=True).stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())

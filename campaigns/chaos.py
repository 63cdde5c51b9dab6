"""Full runs in a row: how each ended, what every fault case saw, every verdict; then planted losses.

    python -m campaigns.chaos 'kafka:4.4.0?nodes=3' --seeds 20 [--first 1] [--select 'produce/*']
        [--plant 20] [--runs DIR]
    python -m campaigns.chaos --of DIR      # the same tables of runs that are there already

A line a run, then one for each case under faults: operations acknowledged, how many of them were invoked while a fault
was active, and how often each window hit. After that one acknowledged record is taken out of everything that was read,
in a sealed copy of each of `--plant` passed histories: as if the broker had lost it. Judging the copy must fail with
that very record. Exit status 1 when a guarantee was broken in a run, or a planted loss is not found.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from brokertrial.checkers.verdict import Verdict
from brokertrial.ci.reports import results
from brokertrial.histories.reader import History
from brokertrial.histories.recorder import Recorder
from brokertrial.histories.rows import TABLES, Operation, Record
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.rejudge import judge_stored

RUN_LIMIT_S = 7_200.0
ENOUGH, ENOUGH_DURING = 2_000, 100
"""Acknowledged operations that a run of a fault case needs, and how many of them invoked while a fault was active."""

HEADING = "seed case                                            verdict       tries  acked  in faults  hits"


@dataclass(frozen=True, slots=True)
class Run:
    """A full run that came to its end."""

    folder: Path
    seed: int
    status: int
    cases: list[CaseResult]

    @property
    def trials(self) -> list[CaseResult]:
        """The cases under faults that had something to judge."""
        return [case for case in self.cases if "during_faults" in case.facts]


def main() -> int:
    """Runs or finds the runs, prints, plants, counts."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="brokertrial-soak-") as scratch:
        runs = []
        for run in _stored(options.of) if options.of else _made(options, Path(options.runs or scratch)):
            runs.append(run)
            print(f"run of seed {run.seed}: {_counted(run.cases)}; exit status {run.status}", flush=True)
        _tell_trials(runs)
        histories = [run.folder / case.history for run in runs for case in run.trials if _is_to_plant_in(case)]
        chosen = Random(options.first).sample(histories, min(options.plant, len(histories)))
        found = sum(_is_found(folder, number, Path(scratch) / "planted") for number, folder in enumerate(chosen))
    print(f"planted losses: {found} of {len(chosen)} found")
    return 1 if found < len(chosen) or any(run.status == 1 for run in runs) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("target", nargs="?")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--select", action="append", default=[])
    parser.add_argument("--plant", type=int, default=20)
    parser.add_argument("--runs", help="a folder for the runs; without it they are deleted")
    parser.add_argument("--of", type=Path, help="a folder of runs to read, instead of making some")
    options = parser.parse_args()
    if bool(options.target) == bool(options.of):
        parser.error("name either a target to run on, or --of and a folder of runs")
    return options


def _made(options: argparse.Namespace, runs: Path) -> Iterator[Run]:
    for seed in range(options.first, options.first + options.seeds):
        place = runs / str(seed)
        words = [
            sys.executable,
            "-P",
            "-c",
            "from brokertrial.ci.cli import main; main()",
            "run",
            "--target",
            options.target,
        ]
        words += ["--profile", "full", "--seed", str(seed), "--runs", str(place), "--keep", "all"]
        words += [f"--select={name}" for name in options.select]
        done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
        if not (folders := list(place.glob("*/run.json"))):
            said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
            raise SystemExit(f"{options.target}, seed {seed}: no run at all.\n{said}")
        yield _read(folders[0].parent)


def _stored(folder: Path) -> Iterator[Run]:
    for found in sorted(folder.glob("*/run.json")):
        yield _read(found.parent)


def _read(folder: Path) -> Run:
    header, cases, footer = results.read(folder)
    return Run(folder, header.run.seed, footer.status, cases)


def _counted(cases: list[CaseResult]) -> str:
    found = Counter(str(case.verdict) for case in cases)
    return ", ".join(f"{number} {verdict}" for verdict, number in sorted(found.items()))


def _tell_trials(runs: list[Run]) -> None:
    print(HEADING)
    for run in runs:
        for case in run.trials:
            print(_line(run.seed, case), flush=True)
    trials = [case for run in runs for case in run.trials]
    thin = sum(_is_thin(case) for case in trials)
    print(f"{len(trials)} times a case under faults: {_counted(trials)}")
    print(f"with fewer than {ENOUGH:,} acknowledged, or {ENOUGH_DURING} of them during faults: {thin}")


def _is_thin(case: CaseResult) -> bool:
    acknowledged, during = int(case.facts.get("acknowledged", 0)), int(case.facts.get("during_faults", 0))
    return acknowledged < ENOUGH or during < ENOUGH_DURING


def _line(seed: int, case: CaseResult) -> str:
    facts = case.facts
    hits = " ".join(f"{name.rpartition(' ')[2]}:{n}" for name, n in facts.items() if name.startswith("hits of "))
    why = f"  [{case.reason.kind}] {case.reason.sentence[:160]}" if case.reason else ""
    return (
        f"{seed:>4} {case.case:<48} {case.verdict:<13} {len(case.attempts):>5} {facts.get('acknowledged', 0):>6} "
        f"{facts.get('during_faults', 0):>10}  {hits}{why}"
    )


def _is_to_plant_in(case: CaseResult) -> bool:
    return case.verdict is Verdict.PASS and bool(case.history)


def _is_found(folder: Path, number: int, root: Path) -> bool:
    """Whether the record that a copy of this history lacks is named when the copy is judged."""
    history = History.open(folder)
    node_control = a_victim(history, Random(number))
    copy = root / str(number) / folder.name
    without(history, node_control, copy)
    result = judge_stored(copy)
    named = any(node_control.value in anomaly.values for anomaly in result.anomalies)
    found = result.verdict is Verdict.FAIL and named
    print(f"     {folder.name}: value {node_control.value} taken out: {'found' if found else 'NOT FOUND'}", flush=True)
    return found


def a_victim(history: History, rng: Random) -> Record:
    """An acknowledged record, of no transaction or of one whose commit was acknowledged."""
    operations = [row for row in history.rows("operations") if isinstance(row, Operation)]
    committed = {row.txn for row in operations if row.kind == "commit_txn" and row.outcome == "ok"}
    records = [row for row in history.rows("records") if isinstance(row, Record) and row.side == "sent"]
    return rng.choice([row for row in records if row.outcome == "ok" and row.txn in committed | {None}])


def without(history: History, node_control: Record, folder: Path) -> None:
    """A copy of a history in which nobody ever saw a record; streams close over it as if it had never been there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    before: dict[tuple[str, int | None, str, int], tuple[int | None, int | None]] = {}
    for row in history.rows("records"):
        if isinstance(row, Record) and row.side == "seen" and row.value == node_control.value:
            before[row.client, row.stream, row.topic, row.partition] = (row.offset, row.prev_offset)
    with Recorder.create(folder, history.header) as copy:
        for table in TABLES:
            for row in history.rows(table):
                if isinstance(row, Record) and row.side == "seen":
                    if row.value == node_control.value:
                        continue
                    gone = before.get((row.client, row.stream, row.topic, row.partition))
                    if gone is not None and row.prev_offset == gone[0]:
                        row.prev_offset = gone[1]
                copy.add(row)


if __name__ == "__main__":
    sys.exit(main())

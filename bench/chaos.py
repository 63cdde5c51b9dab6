"""The fault cases over many seeds: what was acknowledged, how often each fault bit, every verdict; then planted losses.

    python bench/chaos.py 'kafka:4.4.0?nodes=3' --seeds 10 [--first 1] [--select 'produce/*'] [--plant 20] [--keep DIR]

After the runs one acknowledged record is taken out of everything that was read, in a sealed copy of each of `--plant`
passed histories: as if the broker had lost it. Judging the copy must fail with that very record.
Exit status 1 when a run fails, or a planted loss is not found.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import msgspec

from checkers.verdict import Verdict
from histories.reader import History
from histories.recorder import Recorder
from histories.rows import TABLES, Operation, Record
from suites.case import all_cases
from suites.proof_notes import Note
from suites.result import CaseResult
from suites.selection import select
from suites.stored import judge_stored

RUN_LIMIT_S = 7_200.0
HEADING = "seed case                                            verdict       tries  acked  in faults  hits"


def main() -> int:
    """Runs, prints, plants, counts."""
    options = _options()
    trials = [case for case in all_cases() if case.kind == "trial"]
    wanted = [case.id for case in select(trials, options.select, [], "full")[0]]
    verdicts: Counter[str] = Counter()
    passed: list[Path] = []
    thin = 0
    with tempfile.TemporaryDirectory(prefix="brokertrial-soak-") as scratch:
        root = Path(options.keep or scratch)
        print(HEADING)
        for seed in range(options.first, options.first + options.seeds):
            for note, folder in _run(options.target, wanted, seed, root / f"seed-{seed}"):
                verdicts[note.verdict] += 1
                if folder is None:
                    print(f"{seed:>4} {note.case:<48} {note.verdict}: {note.sentence}", flush=True)
                    continue
                result = judge_stored(folder)
                thin += _is_thin(result)
                print(_line(seed, note, result, _number(folder)), flush=True)
                if note.verdict == Verdict.PASS:
                    passed.append(folder)
        print(
            f"{sum(verdicts.values())} runs: {', '.join(f'{n} {verdict}' for verdict, n in sorted(verdicts.items()))}"
        )
        print(f"with fewer than 2,000 acknowledged or 100 acknowledged of them during faults: {thin}")
        chosen = Random(options.first).sample(passed, min(options.plant, len(passed)))
        found = sum(_is_found(folder, number, root / "planted") for number, folder in enumerate(chosen))
    print(f"planted losses: {found} of {len(chosen)} found")
    return 1 if verdicts[Verdict.FAIL] or found < len(chosen) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("target")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--select", action="append", default=[])
    parser.add_argument("--plant", type=int, default=20)
    parser.add_argument("--keep", help="a folder for the runs; without it they are deleted")
    return parser.parse_args()


def _run(target: str, ids: list[str], seed: int, folder: Path) -> list[tuple[Note, Path | None]]:
    """One run of all cases; each verdict with the history of its last attempt."""
    folder.mkdir(parents=True)
    notes = folder / "notes.jsonl"
    words = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "suites.plugin"]
    words += ["-p", "suites.proof_notes", "--notes", str(notes), "--target", target, "--seed", str(seed)]
    words += ["--run-dir", str(folder / "run"), "--unproven", "fail", "--keep", "all"]
    words += [f"--select={name}" for name in ids]
    words += [str(path) for path in sorted({case.file for case in all_cases() if case.id in ids})]
    done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    if not notes.exists():
        raise SystemExit(f"{target}, seed {seed}: no verdict at all.\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    found = [msgspec.json.decode(line, type=Note) for line in notes.read_bytes().splitlines()]
    return [(note, last_attempt(folder / "run" / "histories", note.case)) for note in found]


def last_attempt(histories: Path, case: str) -> Path | None:
    """The history of a case's last attempt; None when there is none (not applicable)."""
    name = case.replace("/", ".")
    attempts = [path for path in histories.glob(f"{name}*") if path.name.partition("~")[0] == name]
    return max(attempts, key=_number, default=None)


def _number(attempt: Path) -> int:
    return int(attempt.name.partition("~")[2] or 1)


def _is_thin(result: CaseResult) -> bool:
    return int(result.facts.get("acknowledged", 0)) < 2_000 or int(result.facts.get("during_faults", 0)) < 100


def _line(seed: int, note: Note, result: CaseResult, tries: int) -> str:
    facts = result.facts
    hits = " ".join(f"{name.rpartition(' ')[2]}:{n}" for name, n in facts.items() if name.startswith("hits of "))
    why = "" if note.verdict == Verdict.PASS else f"  [{note.reason}] {note.sentence[:160]}"
    return (
        f"{seed:>4} {note.case:<48} {note.verdict:<13} {tries:>5} {facts.get('acknowledged', 0):>6} "
        f"{facts.get('during_faults', 0):>10}  {hits}{why}"
    )


def _is_found(folder: Path, number: int, root: Path) -> bool:
    """Whether the record that a copy of this history lacks is named when the copy is judged."""
    history = History.open(folder)
    victim = a_victim(history, Random(number))
    copy = root / str(number) / folder.name
    without(history, victim, copy)
    result = judge_stored(copy)
    named = any(victim.value in anomaly.values for anomaly in result.anomalies)
    found = result.verdict is Verdict.FAIL and named
    print(f"     {folder.name}: value {victim.value} taken out: {'found' if found else 'NOT FOUND'}", flush=True)
    return found


def a_victim(history: History, rng: Random) -> Record:
    """An acknowledged record, of no transaction or of one whose commit was acknowledged."""
    operations = [row for row in history.rows("operations") if isinstance(row, Operation)]
    committed = {row.txn for row in operations if row.kind == "commit_txn" and row.outcome == "ok"}
    records = [row for row in history.rows("records") if isinstance(row, Record) and row.side == "sent"]
    return rng.choice([row for row in records if row.outcome == "ok" and row.txn in committed | {None}])


def without(history: History, victim: Record, folder: Path) -> None:
    """A copy of a history in which nobody ever saw a record; streams close over it as if it had never been there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    before: dict[tuple[str, int | None, str, int], tuple[int | None, int | None]] = {}
    for row in history.rows("records"):
        if isinstance(row, Record) and row.side == "seen" and row.value == victim.value:
            before[row.client, row.stream, row.topic, row.partition] = (row.offset, row.prev_offset)
    with Recorder.create(folder, history.header) as copy:
        for table in TABLES:
            for row in history.rows(table):
                if isinstance(row, Record) and row.side == "seen":
                    if row.value == victim.value:
                        continue
                    gone = before.get((row.client, row.stream, row.topic, row.partition))
                    if gone is not None and row.prev_offset == gone[0]:
                        row.prev_offset = gone[1]
                copy.add(row)


if __name__ == "__main__":
    sys.exit(main())

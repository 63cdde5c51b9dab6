"""Makes the proof record: which cases pass on Apache Kafka, and which planted bug or lie makes each one fail.

    python -P -m suites.prove                       # all of it: Kafka 4.4.0, 4.3.1, 3.9.2, every planted bug, every lie
    python -P -m suites.prove --kafka '' --select 'offsets/*'

Writes suites/proof_record.json and docs/what-makes-each-case-fail.md. Exit status 1 when a case has nothing that makes
it fail, when a bug or a lie that it names does not, or when it fails on a Kafka.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from checkers.verdict import Verdict
from suites import proof
from suites.case import Case, all_cases
from suites.plugin import arguments
from suites.proof_notes import Note
from suites.selection import select

KAFKA = ("kafka:4.4.0", "kafka:4.3.1", "kafka:3.9.2")
CLUSTER = "kafka:4.4.0?nodes=3"
LIED_ABOUT = ("reference", KAFKA[0], CLUSTER)
LIE = "an edited answer"
NOT_HERE = str(Verdict.NOT_APPLICABLE)
TABLE = Path(__file__).parent.parent / "docs" / "what-makes-each-case-fail.md"
PARALLEL = 2
RUN_LIMIT_S = 3600.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs everything that the record is made of; 0 when every case is proven."""
    options = _options(argv)
    cases, _ = select(all_cases(), options.select, options.deselect, "full")
    with tempfile.TemporaryDirectory(prefix="brokertrial-prove-") as folder:
        notes = _passes(cases, options.kafka, Path(folder))
        _keep(cases, notes)  # a record of passes is worth having, whatever comes of the rest
        notes += _failures(cases, Path(folder))
    entries = _keep(cases, notes)
    problems = _problems(cases, entries, notes)
    print("\n".join(problems) or f"{len(cases)} cases: each passes on Apache Kafka and fails when it must")
    return 1 if problems else 0


def _keep(cases: Sequence[Case], notes: Iterable[Note]) -> dict[str, proof.Entry]:
    """Enters the notes into the record and the table, and forgets cases that are gone."""
    entries = {name: entry for name, entry in proof.read(proof.RECORD).items() if name in {c.id for c in all_cases()}}
    _enter(entries, cases, notes)
    proof.write(proof.RECORD, entries)
    TABLE.write_text(_table(all_cases(), entries), encoding="utf-8")
    return entries


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -P -m suites.prove", description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--kafka", nargs="*", default=[*KAFKA, CLUSTER], help="the targets that every case must pass on"
    )
    parser.add_argument("--select", action="append", default=[])
    parser.add_argument("--deselect", action="append", default=[])
    options = parser.parse_args(argv)
    options.kafka = [target for target in options.kafka if target]
    return options


def _passes(cases: Sequence[Case], targets: Iterable[str], folder: Path) -> list[Note]:
    """Every case on the cluster; on single nodes of each version those that ask and look, which take seconds."""
    notes: list[Note] = []
    for target in targets:
        wanted = [case.id for case in cases if target == CLUSTER or case.kind == "wire"]
        notes += _run(target, wanted, folder) if wanted else []
    return notes


def _failures(cases: Sequence[Case], folder: Path) -> list[Note]:
    """One run a planted bug, with the cases that name it; one run for all lies, on the bundled broker.

    Lies about what the bundled broker does not have are told on Apache Kafka.
    """
    by_bug: dict[str, list[str]] = {}
    for case in cases:
        for bug in case.bugs:
            by_bug.setdefault(bug, []).append(case.id)
    lying = [case.id for case in cases if case.lies]
    with ThreadPoolExecutor(PARALLEL) as pool:
        runs = [pool.submit(_run, f"reference?mutant={bug}", ids, folder) for bug, ids in sorted(by_bug.items())]
        if lying:
            runs.append(pool.submit(_refuted, lying, folder))
        return [note for run in runs for note in run.result()]


def _refuted(ids: Sequence[str], folder: Path) -> list[Note]:
    """Each case told its lies on the first target where it is applicable."""
    told: dict[str, Note] = {}
    for target in LIED_ABOUT:
        if open_ids := [name for name in ids if name not in told or told[name].verdict == NOT_HERE]:
            told.update((note.case, note) for note in _run(target, open_ids, folder, "--refute"))
    return list(told.values())


def _run(target: str, ids: Sequence[str], folder: Path, *more: str) -> list[Note]:
    """The verdicts of one run. Its own exit status says nothing here: failing may be what was asked for."""
    run_dir = Path(tempfile.mkdtemp(dir=folder))
    notes = run_dir / "notes.jsonl"
    words = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "suites.plugin"]
    words += ["-p", "suites.proof_notes", "--notes", str(notes), "--target", target, "--run-dir", str(run_dir / "run")]
    words += ["--unproven", "fail", "--keep", "failed", *more, *(f"--select={name}" for name in ids), *arguments()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    if not notes.exists():
        raise SystemExit(f"{target}: no verdict at all.\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    found = [msgspec.json.decode(line, type=Note) for line in notes.read_bytes().splitlines()]
    print(f"{target} {' '.join(more)}: {_count(found)}", flush=True)
    return found


def _count(notes: Sequence[Note]) -> str:
    verdicts = [note.verdict for note in notes]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))


def _enter(entries: dict[str, proof.Entry], cases: Sequence[Case], notes: Iterable[Note]) -> None:
    by_id = {case.id: case for case in cases}
    today = datetime.now(UTC).date().isoformat()
    for note in notes:
        if (case := by_id.get(note.case)) is None:
            continue
        bug = _bug(note)
        if note.target.startswith("kafka:") and not bug and note.verdict == "pass":
            nodes = ", three nodes" if "nodes=3" in note.target else ""
            proof.note(entries, case, passed_on=f"Apache Kafka {note.version}{nodes} ({today})")
        elif bug and note.verdict == "fail":
            proof.note(entries, case, fails_with=bug)


def _bug(note: Note) -> str:
    return LIE if note.refuted else note.target.partition("mutant=")[2]


def _problems(cases: Sequence[Case], entries: dict[str, proof.Entry], notes: Iterable[Note]) -> list[str]:
    found = [
        f"{note.case}: {note.verdict} on {note.target}: {note.sentence}"
        for note in notes
        if note.target.startswith("kafka:") and not _bug(note) and note.verdict in ("fail", "inconclusive")
    ]
    found += [
        f"{note.case}: {note.verdict} with {_bug(note)}, which must make it fail"
        for note in notes
        if _bug(note) and note.verdict != "fail"
    ]
    for case in cases:
        entry = entries.get(case.id)
        if entry is None or not entry.passed_on:
            found.append(f"{case.id}: has not passed on any Apache Kafka")
        if entry is None or not entry.fails_with:
            found.append(f"{case.id}: nothing has been seen to make it fail")
    return found


def _table(cases: Iterable[Case], entries: dict[str, proof.Entry]) -> str:
    lines = [
        "# What makes each case fail",
        "",
        "Generated by `python -P -m suites.prove`. M.. is a planted bug of the bundled broker",
        "(`brokertrial broker mutants`); an edited answer is told by the proxy, as the case's `fails_on` says.",
        "",
        "| case | seen to fail with | last passed on |",
        "|---|---|---|",
    ]
    for case in sorted(cases, key=lambda entry: entry.id):
        entry = entries.get(case.id, proof.Entry(""))
        lines.append(f"| {case.id} | {', '.join(entry.fails_with)} | {'; '.join(entry.passed_on)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

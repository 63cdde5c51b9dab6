"""Makes the proof record: which cases pass on Apache Kafka, and which planted bug or lie makes each one fail.

    python -P -m suites.prove                                    # make prove: everything
    python -P -m suites.prove kafka:4.4.0 reference --select 'offsets/*'

A Kafka is a target that every case must pass on; `reference` stands for all planted bugs and all lies. Every verdict is
kept in a file at once, and what was shown of a case as it is now is not run again: an interrupted command goes on where
it was, and targets may be proven one after the other. `--again` forgets. Writes suites/proof_record.json and
docs/what-makes-each-case-fail.md. Exit status 1 when a case has nothing that makes it fail, when a bug or a lie that it
names does not, or when it fails on a Kafka.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checkers.verdict import Verdict
from histories.scratch import Scratch
from suites import proof
from suites.case import Case, all_cases
from suites.mutants import bugs_of, planted
from suites.plugin import arguments
from suites.proof_store import Store
from suites.selection import select

REFERENCE = "reference"
CLUSTER = "kafka:4.4.0?nodes=3"
TARGETS = ("kafka:4.4.0", "kafka:4.3.1", "kafka:3.9.2", CLUSTER, REFERENCE)
LIED_ABOUT = (REFERENCE, TARGETS[0], CLUSTER)
NOTES = Path("runs", "proof-notes.jsonl")
TABLE = Path(__file__).parent.parent / "docs" / "what-makes-each-case-fail.md"
PARALLEL = 2
RUN_LIMIT_S = 4 * 3600.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what is not shown yet; 0 when every case is proven on the targets that were named."""
    options = _options(argv)
    cases, _ = select(all_cases(), options.select, options.deselect, "full")
    store = Store(options.notes, cases)
    if options.again:
        store.forget()
    for target in options.targets:
        if target == REFERENCE:
            _failures(cases, store)
        else:
            _passes(cases, store, target)
        _keep(cases, store)  # a record of passes is worth having, whatever comes of the rest
    problems = _problems(cases, _keep(cases, store), store, options.targets)
    print("\n".join(problems) or f"{len(cases)} cases: each is proven on {', '.join(options.targets)}")
    return 1 if problems else 0


def _passes(cases: Sequence[Case], store: Store, target: str) -> None:
    """Every case on the cluster; on single nodes of each version those that ask and look, which take seconds."""
    wanted = [case for case in cases if target == CLUSTER or case.kind == "wire"]
    done = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    _run(store, target, [case for case in wanted if store.verdict(case, target) not in done])


def _failures(cases: Sequence[Case], store: Store) -> None:
    """One run a planted bug, with the cases that name it; one run for all lies, on the bundled broker.

    Lies about what the bundled broker does not have are told on Apache Kafka.
    """
    by_target: dict[str, list[Case]] = {}
    for case in cases:
        for bug in bugs_of(case):
            if store.verdict(case, target := planted(case, bug)) is not Verdict.FAIL:
                by_target.setdefault(target, []).append(case)
    with ThreadPoolExecutor(PARALLEL) as pool:
        runs = [pool.submit(_run, store, target, named) for target, named in sorted(by_target.items())]
        runs.append(pool.submit(_refuted, cases, store))
        for run in runs:
            run.result()


def _refuted(cases: Sequence[Case], store: Store) -> None:
    """Each case told its lies on the first target where it is applicable."""
    for target in LIED_ABOUT:
        untold = [case for case in cases if case.lies and not store.refuted(case, LIED_ABOUT)]
        fresh = [case for case in untold if store.verdict(case, target, lies=True) is not Verdict.NOT_APPLICABLE]
        _run(store, target, fresh, "--refute")


def _run(store: Store, target: str, cases: Sequence[Case], *more: str) -> None:
    """One run, each verdict noted as it falls. Its exit status says nothing here: failing may be what was asked for."""
    if not cases:
        return
    before = len(store)
    with Scratch("prove") as folder:
        words = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "suites.plugin"]
        words += ["-p", "suites.proof_notes", "--notes", str(store.path), "--target", target]
        words += ["--run-dir", str(Path(folder, "run")), "--unproven", "fail", "--keep", "failed", *more]
        words += [*(f"--select={case.id}" for case in cases), *arguments()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    store.read()
    if len(store) == before:
        raise SystemExit(f"{target}: no verdict at all.\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    verdicts = [str(store.verdict(case, target, lies="--refute" in more)) for case in cases]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))
    print(f"{target} {' '.join(more)}: {counted}", flush=True)


def _keep(cases: Sequence[Case], store: Store) -> dict[str, proof.Entry]:
    """Enters what the notes show into the record and the table, and forgets cases that are gone."""
    known = {case.id for case in all_cases()}
    entries = {name: entry for name, entry in proof.read(proof.RECORD).items() if name in known}
    for case in cases:
        for note in store.of(case):
            store.enter(entries, case, note)
    proof.write(proof.RECORD, entries)
    TABLE.write_text(_table(all_cases(), entries), encoding="utf-8")
    return entries


def _problems(
    cases: Sequence[Case], entries: dict[str, proof.Entry], store: Store, targets: Sequence[str]
) -> list[str]:
    found: list[str] = []
    for case in cases:
        for note in store.of(case):
            where = note.target + (" told lies" if note.refuted else "")
            wanted = Verdict.FAIL if note.refuted or "mutant=" in note.target else Verdict.PASS
            apart = note.verdict == Verdict.NOT_APPLICABLE and wanted is Verdict.PASS
            told = note.refuted and store.refuted(case, LIED_ABOUT)
            if note.verdict != wanted and not apart and not told:
                found.append(f"{case.id}: {note.verdict} on {where}, must {wanted}: {note.sentence}")
        entry = entries.get(case.id)
        if any(target != REFERENCE for target in targets) and (entry is None or not entry.passed_on):
            found.append(f"{case.id}: has not passed on any Apache Kafka")
        if REFERENCE in targets and (entry is None or not entry.fails_with):
            found.append(f"{case.id}: nothing has been seen to make it fail")
    return found


def _table(cases: Iterable[Case], entries: dict[str, proof.Entry]) -> str:
    lines = [
        "# What makes each case fail",
        "",
        "Generated by `make prove`. M.. is a planted bug of the bundled broker",
        "(`brokertrial broker --mutants`); an edited answer is told by the proxy, as the case's `fails_on` says.",
        "",
        "| case | seen to fail with | last passed on |",
        "|---|---|---|",
    ]
    for case in sorted(cases, key=lambda entry: entry.id):
        entry = entries.get(case.id, proof.Entry(""))
        lines.append(f"| {case.id} | {', '.join(entry.fails_with)} | {'; '.join(entry.passed_on)} |")
    return "\n".join(lines) + "\n"


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -P -m suites.prove", description=__doc__.split("\n", 1)[0])
    parser.add_argument("targets", nargs="*", default=[*TARGETS], metavar="TARGET", help=f"of: {', '.join(TARGETS)}")
    parser.add_argument("--select", action="append", default=[])
    parser.add_argument("--deselect", action="append", default=[])
    parser.add_argument("--notes", type=Path, default=NOTES, help="where verdicts are kept as they fall")
    parser.add_argument("--again", action="store_true", help="forget the verdicts on these cases first")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())

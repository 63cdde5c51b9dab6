"""Makes the proof record: which cases pass on Apache Kafka, and which planted bug or edited answer makes each one fail.

    python -P -m brokertrial.suites.proving.prove                 # make prove: what is not shown, or due for renewal
    python -P -m brokertrial.suites.proving.prove kafka:4.4.0 reference --select 'offsets/*'
    python -P -m brokertrial.suites.proving.prove --marked        # says what is due, and runs nothing

A Kafka is a target that cases must pass on; `reference` stands for all planted bugs and edited answers. Every verdict
is noted in a file at once, and what the record shows of a case as it is now is not run again: an interrupted command
goes on where it was. `--again` runs it all the same. Writes the record and docs/what-makes-each-case-fail.md.
Exit status 1 when something that was asked for is not shown, 2 while another such command writes the record.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.tempdirs import Scratch, holding
from brokertrial.suites.case import Case, own_cases
from brokertrial.suites.proving import proof_record, releases
from brokertrial.suites.proving.case_dependencies import text_hash, under_hash
from brokertrial.suites.proving.mutants import CLUSTER_NEEDS, bugs_of, planted
from brokertrial.suites.proving.notes import Note, noted_run
from brokertrial.suites.proving.page import TABLE, page
from brokertrial.suites.proving.proof_record import EDITED_RESPONSE, KafkaPass
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run_folder import new_run
from brokertrial.suites.running.selection import select
from brokertrial.suites.since import number

REFERENCE = "reference"
RELEASES = ("4.4.0", "4.3.1", "3.9.2")
CLUSTER = "?nodes=3"
EVERYTHING = f"kafka:{RELEASES[0]}{CLUSTER}"
ZOOKEEPER = (f"kafka:{RELEASES[-1]}?mode=zk", f"kafka:{RELEASES[-1]}?mode=zk&{CLUSTER[1:]}&ensemble=3")
"""Where cases about ZooKeeper are proven: one node, and the cluster with an ensemble for all of them."""
CONTROLLERS = f"{EVERYTHING}&controllers=1"
"""Where cases are proven that do not apply where the controllers die with the brokers."""
CRASHES = "crash_controllers"
"""What the files of such cases mention."""
TARGETS = (
    *(f"kafka:{one}" for one in RELEASES),
    *(f"kafka:{one}{CLUSTER}" for one in RELEASES),
    *ZOOKEEPER,
    CONTROLLERS,
    REFERENCE,
)
LIED_ABOUT = (REFERENCE, TARGETS[0], EVERYTHING, ZOOKEEPER[1])
NOTES = Path("runs", "proof-notes.jsonl")
NOT_PASSED = "not-passed"
PARALLEL = 2
JOBS = 4
FILES_SHOWN = 6
RUN_LIMIT_S = 4 * 3600.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what is not shown yet; 0 when every case is proven on the targets that were named."""
    options = _options(argv)
    try:
        with nullcontext() if options.marked else holding(proof_record.RECORD.parent):
            return _prove(options)
    except BlockingIOError:
        print(f"Another `prove` writes {proof_record.RECORD}; each would lose what the other finds. Wait for its end.")
        return 2


def _prove(options: argparse.Namespace) -> int:
    cases, _ = select(own_cases(), options.select, options.deselect, "full")
    if options.marked:
        problems = marks(cases)
    else:
        work = ProofWork(cases, options.notes, options.again, options.jobs)
        for target in options.targets:
            work.failures() if target == REFERENCE else work.passes(target)
            work.keep()  # a record of passes is worth having, whatever comes of the rest
        problems = work.problems(options.targets)
    print("\n".join(problems) or f"{len(cases)} cases: each is proven on {', '.join(options.targets)}")
    if newer := [one for one in releases.RELEASES if number(one) > number(RELEASES[0])]:
        print(
            f"Newer than any Kafka that cases are proven on: {', '.join(newer)} (RELEASES in suites/proving/prove.py)"
        )
    return 1 if problems else 0


def marks(cases: Sequence[Case]) -> list[str]:
    """What keeps this suite from being handed out: cases that are not proven, or whose proof is due for renewal."""
    record = proof_record.record()
    found = [f"{case.id}: not proven as it is written now" for case in cases if not proof_record.proof_of(case)]
    due = {case.id: files for case in cases if (files := record.marked(case))}
    if due:
        places = Counter(place for case in cases for place in record.marked_on(case))
        changed = Counter(file for files in due.values() for file in files)
        found.append(f"{len(due)} cases are due for renewal; changed under them: {_listed(changed)}")
        found += [f"  {number} on {place}" for place, number in sorted(places.items())]
    return [*found, "`make prove` renews them; until then no wheel is built."] if found else []


def _listed(files: Counter[str]) -> str:
    """The files under most cases first, and how many others."""
    shown = ", ".join(file for file, _ in files.most_common(FILES_SHOWN))
    return shown if len(files) <= FILES_SHOWN else f"{shown} and {len(files) - FILES_SHOWN} other files"


class ProofWork:
    """The record as it grows, and what the runs have noted."""

    def __init__(self, cases: Sequence[Case], notes: Path, again: bool = False, jobs: int = JOBS) -> None:
        self.cases = list(cases)
        self._jobs = jobs
        self.record = proof_record.read(proof_record.RECORD)
        self._path = notes
        self._last: dict[tuple[str, str, bool], Note] = {}
        self._read = 0
        notes.parent.mkdir(parents=True, exist_ok=True)
        if again:
            notes.unlink(missing_ok=True)
            for case in cases:
                self.record.cases.pop(case.id, None)
        self.take_in()

    def take_in(self) -> int:
        """Enters what runs have noted meanwhile; how many lines. One cut off, or of before, is passed by."""
        by_id = {case.id: case for case in self.cases}
        lines = self._path.read_bytes().splitlines() if self._path.exists() else []
        new, self._read = lines[self._read :], len(lines)
        for line in new:
            try:
                note = msgspec.json.decode(line, type=Note)
            except msgspec.DecodeError:
                continue
            if (case := by_id.get(note.case)) and note.text == text_hash(case):
                self._enter(case, note)
        return len(new)

    def _enter(self, case: Case, note: Note) -> None:
        bug = EDITED_RESPONSE if note.refuted else note.target.partition("mutant=")[2]
        if not bug and note.under != under_hash(case):
            return
        self._last[case.id, note.target, note.refuted] = note
        if bug and note.verdict == Verdict.FAIL:
            self.record.failed(case, bug)
        elif not bug and note.target.startswith("kafka:") and note.verdict == Verdict.PASS:
            nodes, zookeeper = _nodes(note.target), note.target in ZOOKEEPER
            state, apart = self.record.now(), note.target == CONTROLLERS
            seen = KafkaPass(note.version, nodes, note.day, state, note.attempt, zookeeper, note.under, apart)
            self.record.passed(case, seen)

    # what is to be shown

    def passes(self, target: str) -> None:
        """The cases that must pass on this Kafka."""
        self._run(
            target, [case for case in self.cases if self._wanted(case, target) and not self._passed(case, target)]
        )

    def failures(self) -> None:
        """One run a planted bug, with the cases that name it; one run for all edited answers.

        Answers of APIs that the bundled broker does not have are edited on Apache Kafka.
        """
        by_target: dict[str, list[Case]] = {}
        for case in self.cases:
            for bug in self._missed(case):
                by_target.setdefault(planted(case, bug), []).append(case)
        with ThreadPoolExecutor(PARALLEL) as pool:
            runs = [pool.submit(self._run, target, named) for target, named in sorted(by_target.items())]
            runs.append(pool.submit(self._edited))
            for run in runs:
                run.result()

    def _edited(self) -> None:
        for target in LIED_ABOUT:
            untold = [case for case in self.cases if self._untold(case)]
            self._run(target, [case for case in untold if not self._absent(case, target, lies=True)], refute=True)

    def _wanted(self, case: Case, target: str) -> bool:
        """Every case on one cluster; elsewhere those that need several nodes on several, the others on one."""
        if ("zookeeper" in case.needs) is not (target in ZOOKEEPER):
            return False
        if target == CONTROLLERS:
            return CRASHES in case.file.read_text(encoding="utf-8")
        everything = target in (EVERYTHING, ZOOKEEPER[1])
        return everything or bool(CLUSTER_NEEDS.intersection(case.needs)) is (_nodes(target) > 1)

    def _passed(self, case: Case, target: str) -> bool:
        release, nodes = target.partition("?")[0].removeprefix("kafka:"), _nodes(target)
        entry = self.record.entry(case)
        seen = [one for one in entry.passes if (one.release, one.nodes) == (release, nodes)] if entry else []
        return self._absent(case, target) or any(not self.record.due(case, one) for one in seen)

    def _absent(self, case: Case, target: str, *, lies: bool = False) -> bool:
        note = self._last.get((case.id, target, lies))
        return note is not None and note.verdict == Verdict.NOT_APPLICABLE

    def _missed(self, case: Case) -> list[str]:
        entry = self.record.entry(case)
        return [bug for bug in bugs_of(case) if entry is None or bug not in entry.fails_with]

    def _untold(self, case: Case) -> bool:
        entry = self.record.entry(case)
        return bool(case.tampered_responses) and (entry is None or entry.lies != proof_record.tampered_hash(case))

    def _run(self, target: str, cases: Sequence[Case], *, refute: bool = False) -> None:
        """One run, each verdict noted as it falls. Its exit status says nothing here: failing may be what was asked.

        What must pass is run as users run it, side by side and with the closing look; what must fail is judged alone.
        """
        if not cases:
            return
        to_fail = refute or not target.startswith("kafka:")
        with Scratch("prove") as folder:
            options = RunOptions(
                target,
                select=tuple(case.id for case in cases),
                run_dir=str(Path(folder, "run")),
                unproven="fail",
                keep="failed",
                each_alone=to_fail,
                refute=refute,
                jobs=1 if to_fail else self._jobs,
            )
            said = noted_run(options, self._path.absolute(), RUN_LIMIT_S)
            self.take_in()
            noted = [self._last.get((case.id, target, refute)) for case in cases]
            if not to_fail and any(note and note.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE) for note in noted):
                print(f"The run is kept: {kept_run(Path(folder, 'run'), self._path.parent)}", flush=True)
        if not any(noted):
            raise SystemExit(f"{target}: no verdict at all.\n{said}")
        verdicts = [note.verdict if note else "no verdict" for note in noted]
        counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))
        print(f"{target}{' refuted' if refute else ''}: {counted}", flush=True)

    # what comes of it

    def keep(self) -> None:
        """Writes the record and the page; forgets cases that are gone, and releases that are asked for no more."""
        known = {case.id for case in own_cases()}
        self.record.cases = {name: entry for name, entry in self.record.cases.items() if name in known}
        for entry in self.record.cases.values():
            entry.passes = [seen for seen in entry.passes if seen.release in RELEASES]
        proof_record.write(proof_record.RECORD, self.record)
        TABLE.write_text(page(own_cases(), self.record), encoding="utf-8")

    def problems(self, targets: Sequence[str]) -> list[str]:
        """What was asked for and is not shown."""
        found: list[str] = []
        for case in self.cases:
            for target in targets:
                if target == REFERENCE:
                    found += [f"{case.id}: {bug} does not make it fail{self._said(case, planted(case, bug))}"
                              for bug in self._missed(case)]  # fmt: skip
                    if self._untold(case):
                        found.append(f"{case.id}: its edited answers do not make it fail")
                elif self._wanted(case, target) and not self._passed(case, target):
                    found.append(f"{case.id}: has not passed on {target}{self._said(case, target)}")
            entry = self.record.entry(case)
            if REFERENCE in targets and not (entry and entry.fails_with):
                found.append(f"{case.id}: nothing has been seen to make it fail")
        return found

    def _said(self, case: Case, target: str) -> str:
        note = self._last.get((case.id, target, False))
        return f": {note.verdict}: {note.sentence}" if note else ""


def kept_run(run: Path, beside: Path) -> Path:
    """Where the run folder lies from now on, beside the notes: what comes once in a hundred runs is not seen again."""
    options = RunOptions.left_in(run)
    place = new_run(beside / NOT_PASSED, options.target, options.seed or 0)
    shutil.copytree(run, place, dirs_exist_ok=True)
    return place


def _nodes(target: str) -> int:
    return 3 if CLUSTER[1:] in target else 1


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -P -m suites.proving.prove", description=__doc__.split("\n", 1)[0])
    parser.add_argument("targets", nargs="*", default=[*TARGETS], metavar="TARGET", help=f"of: {', '.join(TARGETS)}")
    parser.add_argument("--select", action="append", default=[])
    parser.add_argument("--deselect", action="append", default=[])
    parser.add_argument("--notes", type=Path, default=NOTES, help="where verdicts are kept as they fall")
    parser.add_argument("--again", action="store_true", help="forget what is known of these cases first")
    parser.add_argument("--jobs", type=int, default=JOBS, help="cases under way at once on a Kafka that they must pass")
    parser.add_argument("--marked", action="store_true", help="only say which proofs are due for renewal")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())

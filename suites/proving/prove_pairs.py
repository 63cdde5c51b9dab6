"""Makes the record of pairs: which cases pass on Apache Kafka in which situations, and which draws are out.

    python -P -m brokertrial.suites.proving.prove_pairs                       # make prove-pairs: all that is missing
    python -P -m brokertrial.suites.proving.prove_pairs 'kafka:4.4.0?nodes=3' --situation stop,crash --select 'groups/*'

What the record holds of a pair as it is now is not run again. Writes suites/situations/pairs.json after each
situation.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import Case, own_cases
from brokertrial.suites.events import CaseFinished, RunEvent
from brokertrial.suites.exit_status import ExitStatus
from brokertrial.suites.probe.run_case import NO_EFFECT as WITHOUT_EFFECT
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.estimates import healthy_s
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import run
from brokertrial.suites.running.selection import select
from brokertrial.suites.situations import situations
from brokertrial.suites.situations.pair_record import NO_EFFECT, PairRecord, Setting
from brokertrial.suites.situations.pairs import case_named, pairs_of

TARGETS = ("kafka:4.4.0", "kafka:4.4.0?nodes=3")
SHOWN = 160
"""Characters of a sentence that are kept."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what the record does not hold yet; 1 where something is still missing."""
    parser = argparse.ArgumentParser(prog="prove_pairs")
    parser.add_argument("targets", nargs="*", default=TARGETS)
    parser.add_argument("--situation", default=",".join(situations()))
    parser.add_argument("--select", action="append", default=[])
    parser.add_argument("--longest", type=float, default=5.0, help="seconds of the longest case that is tried")
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args(argv)
    cases = [one for one in select(own_cases(), options.select, (), "full")[0] if one.kind == "wire"]
    cases = [one for one in cases if healthy_s(one, "full") <= options.longest]
    missing = 0
    for target in options.targets:
        record = PairRecord.read()
        for name in options.situation.split(","):
            _prove(target, _missing(cases, name, _setting(target), record), record, options.jobs)
            record.write()
            missing += len(_missing(cases, name, _setting(target), record))
    print(f"{missing} pairs have come to no verdict")
    return int(missing > 0)


def _setting(target: str) -> Setting:
    return "several" if "nodes=3" in target else "one"


def _missing(cases: Sequence[Case], name: str, where: Setting, record: PairRecord) -> list[Case]:
    found = []
    for case in cases:
        for one in pairs_of(case, [name]):
            assert one.situation is not None
            entry, number = record.entry(case, one.situation.situation), one.situation.number
            if entry is None or (number not in entry.passed(where) and f"{where}-{number}" not in entry.out):
                found.append(one)
    return found


def _prove(target: str, pairs: Sequence[Case], record: PairRecord, jobs: int) -> None:
    """One run; each verdict on a pair is entered as it falls."""
    tally: Counter[str] = Counter()

    def enter(event: RunEvent) -> None:
        if isinstance(event, CaseFinished) and "@" in event.result.case:
            tally[_entered(event.result, _setting(target), record)] += 1

    if pairs:
        with Scratch("pairs") as scratch:
            options = RunOptions(
                target,
                select=tuple(one.id for one in pairs),
                run_dir=str(Path(scratch, "run")),
                require=(),
                jobs=jobs,
                keep="failed",
            )
            status = run(options, enter).status
        if status == ExitStatus.INTERRUPTED:
            record.write()
            sys.exit(ExitStatus.INTERRUPTED)
    print(f"{target}: {', '.join(f'{count} {what}' for what, count in sorted(tally.items()))}", flush=True)


def _entered(result: CaseResult, where: Setting, record: PairRecord) -> str:
    case = case_named(result.case)
    assert case is not None and case.situation is not None
    entry, number = record.begun(case, case.situation.situation), case.situation.number
    kind = result.reason.kind if result.reason else ""
    if result.verdict is Verdict.PASS:
        entry.enter(where, number, "")
        return "passed"
    if kind == WITHOUT_EFFECT:
        entry.enter(where, number, NO_EFFECT)
        return "without effect"
    sentence = result.reason.sentence[:SHOWN] if result.reason else ""
    if result.verdict is Verdict.INCONCLUSIVE or kind == "needs":
        print(f"{result.case}: {sentence}", flush=True)
        return "undecided"
    entry.enter(where, number, f"{'failed' if result.verdict is Verdict.FAIL else 'not applicable'}: {sentence}")
    if result.verdict is Verdict.FAIL:
        print(f"{result.case} FAILED: {sentence}", flush=True)
    return "out"


if __name__ == "__main__":
    sys.exit(main())

"""Puts every planted bug on trial with the cases that name it, and the healthy broker with the same cases.

    python -P -m suites.proving.mutation                  # make mutants: all of them, five times each
    python -P -m suites.proving.mutation M05 M09 --times 1

Cases that name a bug are run, the quick ones first, until one shows it. Exit status 1 when a bug was not shown every
time, or the healthy broker failed a case or left more than 2 % of them undecided. Writes docs/mutants.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path

import msgspec

from brokertrial.checkers.verdict import Verdict
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import Case, own_cases
from brokertrial.suites.events import CaseFinished, RunEvent
from brokertrial.suites.proving import mutants, proof_record
from brokertrial.suites.result import CaseResult
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.run import Enough, run

WORKERS = 2
UNDECIDED = 0.02
LINE = "{:<7} {:>7}  {:>7}  {:<46} {}"


class Attempted(msgspec.Struct, frozen=True):
    """One bug on trial once."""

    mutant: str
    shown_by: str = ""
    """The case that showed it; empty: none did."""
    known_by: str = ""
    instead: str = ""
    """What the cases did that did not show it."""
    ran: tuple[str, ...] = ()
    seconds: float = 0.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs everything, prints one line a bug, writes the table."""
    options = _options(argv)
    began = time.monotonic()
    wanted = options.mutants or list(mutants.mutants())
    jobs = [(mutant, seed) for mutant in wanted for seed in range(1, options.times + 1)]
    print(LINE.format("bug", "caught", "seconds", "by", "known by"), flush=True)
    context = multiprocessing.get_context("spawn")  # a run handles signals, and so wants a main thread of its own
    ran: dict[str, None] = {}
    missed: list[str] = []
    with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
        for mutant, group in groupby(pool.map(tried, *zip(*jobs, strict=True)), key=lambda one: one.mutant):
            tries = list(group)
            ran |= dict.fromkeys(case for one in tries for case in one.ran)
            missed += [] if _line(mutant, tries) else [mutant]
        healthy = list(pool.map(clean, [list(ran)] * options.clean, range(1, options.clean + 1)))
    bad = [sentence for sentences in healthy for sentence in sentences]
    print("\n".join(bad) if bad else f"the healthy broker: {options.clean} x {len(ran)} cases, none failed")
    print(f"{len(wanted) - len(missed)} of {len(wanted)} bugs caught {options.times} times of {options.times}; "
          f"{time.monotonic() - began:.0f} s with {options.workers} workers")  # fmt: skip
    if options.table:
        seen = {name: entry.fails_with for name, entry in proof_record.record().cases.items()}
        options.table.write_text(mutants.page(seen), "utf-8")
    return 1 if missed or bad else 0


def tried(mutant_id: str, seed: int) -> Attempted:
    """Runs the cases that name a bug until one of them shows it."""
    mutant, began = mutants.mutants()[mutant_id], time.monotonic()
    ran: list[str] = []
    instead: list[str] = []
    named = [(mutants.planted(case, word), case) for word, case in mutants.catchers(mutant_id)]
    for target, pairs in groupby(named, key=lambda pair: pair[0]):
        for result in results(target, [case for _, case in pairs], seed, partial(_is_shown, mutant)):
            ran.append(result.case)
            if said := mutants.known_by(mutant, result):
                return Attempted(mutant_id, result.case, said, "", tuple(ran), time.monotonic() - began)
            instead.append(f"{result.case}: {result.verdict}{_why(result)}")
    nobody = "no case names it"
    return Attempted(mutant_id, "", "", "; ".join(instead) or nobody, tuple(ran), time.monotonic() - began)


def _is_shown(mutant: mutants.Mutant, result: CaseResult) -> bool:
    return bool(mutants.known_by(mutant, result))


def clean(ids: Sequence[str], seed: int) -> list[str]:
    """What the healthy broker did wrong in these cases: failures, and too many that were not decided."""
    targets: dict[str, list[Case]] = {}
    for case in own_cases():
        if case.id in set(ids):
            targets.setdefault(mutants.planted(case, "").partition("?")[0], []).append(case)
    found = [result for target, cases in targets.items() for result in results(target, cases, seed)]
    failed = [f"the healthy broker: {one.case}: fail{_why(one)}" for one in found if one.verdict is Verdict.FAIL]
    open_ = [one.case for one in found if one.verdict is Verdict.INCONCLUSIVE]
    if len(open_) > UNDECIDED * len(found):
        failed.append(f"the healthy broker: {len(open_)} of {len(found)} cases were not decided: {', '.join(open_)}")
    return failed


def results(
    target: str, cases: Sequence[Case], seed: int, enough: Callable[[CaseResult], bool] = lambda result: False
) -> list[CaseResult]:
    """What came of these cases, run one by one in this process, up to the first that is enough."""

    def look(event: RunEvent) -> None:
        if isinstance(event, CaseFinished) and enough(event.result):
            raise Enough

    with Scratch("mutation") as folder:
        ids = tuple(case.id for case in cases)
        place = str(Path(folder, "run"))
        options = RunOptions(target, seed=seed, select=ids, run_dir=place, unproven="fail", each_alone=True, jobs=1)
        return [result for result in run(options, look).results if result.case in ids]


def _why(result: CaseResult) -> str:
    names = sorted({anomaly.name for anomaly in result.anomalies})
    reason = f" ({result.reason.kind}: {result.reason.sentence[:120]})" if result.reason else ""
    return f" {names}{reason}" if names else reason


def _line(mutant: str, tries: Sequence[Attempted]) -> bool:
    """Prints what became of a bug; whether it was caught every time."""
    caught = [one for one in tries if one.shown_by]
    by = ", ".join(dict.fromkeys(one.shown_by for one in caught))
    known = ", ".join(dict.fromkeys(one.known_by for one in caught))
    seconds = f"{sum(one.seconds for one in tries):.1f}"
    print(LINE.format(mutant, f"{len(caught)} of {len(tries)}", seconds, by, known), flush=True)
    for sentence in dict.fromkeys(one.instead for one in tries if not one.shown_by):
        print(f"        MISSED: {sentence}", flush=True)
    return len(caught) == len(tries)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -P -m suites.proving.mutation", description=__doc__.split("\n", 1)[0])
    parser.add_argument("mutants", nargs="*", metavar="BUG", help="which ones (default: all)")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--clean", type=int, default=5, help="runs of the healthy broker with the same cases")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help=f"write the table there (make: {mutants.TABLE.name})"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())

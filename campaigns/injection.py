"""How surely each anomaly is found: put into random legal histories, found again at its offsets; legal ones stay clean.

    python -m campaigns.injection --times 1000 --legal 10000 [--jobs N]

One line an anomaly: found k of n with the right place, beside the check alone on the same histories without it. Every
history is judged whole, at about a million rows a second and core; the lines come in order whatever the number of
processes, and do not depend on it.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import pyarrow as pa

from brokertrial.checkers.check import all_checks
from brokertrial.checkers.engines.duckdb_engine import DuckDBEngine
from tests.checkers.evidence import injections
from tests.checkers.legal_histories import Legal
from tests.checkers.wounded_tables import Base, asked, found, held, relations
from tests.checkers.wounds import Wound

AT_ONCE = 20
LEGAL_AT_ONCE = 500
BASES = 20
SMALL = 150


def main() -> int:
    given = _arguments()
    began, missed = time.monotonic(), 0
    with ProcessPoolExecutor(given.jobs, get_context("spawn"), _alone) as pool:
        calls = sum(len(base.legal.operations) for base in bases(given.seed, given.operations)) // BASES
        print(f"{BASES} legal histories of {calls} operations; an anomaly at a random place of each", flush=True)
        for name, hits, false, cpu in searches(pool, given):
            missed += given.times - hits + false
            told = f"found {hits} of {given.times}, {false} in the same without it"
            print(f"{name:30} {told}, {cpu:.1f} s of CPU", flush=True)
        wrong = 0
        for accusation in falsely(pool, given.legal, given.seed):
            wrong += 1
            print(accusation, flush=True)
    print(f"legal histories of {SMALL} operations: {wrong} accusations in {given.legal}")
    print(f"{time.monotonic() - began:.0f} s in {given.jobs} processes")
    return 1 if missed or wrong else 0


@cache
def bases(seed: int, operations: int) -> list[Base]:
    """The legal histories, made once in every process."""
    return [Base(Legal(seed + number, operations)) for number in range(BASES)]


def searches(pool: Executor, given: argparse.Namespace) -> Iterator[tuple[str, int, int, float]]:
    """Per anomaly, how many were found, how many histories without it were accused, and the CPU seconds it took."""
    lots = [range(start, min(start + AT_ONCE, given.times)) for start in range(0, given.times, AT_ONCE)]
    asked_for = given.anomalies or list(injections())
    work = {
        name: [
            *(pool.submit(search, name, lot, given.seed, given.operations) for lot in lots),
            pool.submit(unwounded, name, given.seed, given.operations),
        ]
        for name in asked_for
    }
    for name, parts in work.items():
        *hits, (false, _) = (part.result() for part in parts)
        yield name, sum(number for number, _ in hits), false, sum(part.result()[1] for part in parts)


def search(name: str, numbers: Sequence[int], seed: int, operations: int) -> tuple[int, float]:
    """In how many of these wounded histories the check finds the wound, and the CPU seconds it took."""
    whole, began = bases(seed, operations), time.process_time()
    chosen = [whole[number % BASES] for number in numbers]
    wounds = [Wound(base.legal, random.Random(f"{seed}/{name}/{n}")) for base, n in zip(chosen, numbers, strict=True)]
    expected = [injections()[name](wound) for wound in wounds]
    with _opened(relations(chosen, wounds)) as duck:
        rows = asked(duck, all_checks()[expected[0].check])
    hits = sum(found(rows, number, each) for number, each in enumerate(expected))
    return hits, time.process_time() - began


def unwounded(name: str, seed: int, operations: int) -> tuple[int, float]:
    """In how many legal histories the check that finds this anomaly finds something, and the CPU seconds it took."""
    whole, began = bases(seed, operations), time.process_time()
    expected = injections()[name](Wound(whole[0].legal, random.Random(f"{seed}/{name}/0")))
    with _opened(relations(whole, [None] * BASES)) as duck:
        rows = asked(duck, all_checks()[expected.check])
        accused = {row["history"] for row in rows if row.get("judged", 1) >= expected.judged}
    return len(accused), time.process_time() - began


def falsely(pool: Executor, histories: int, seed: int) -> Iterator[str]:
    """What all checks hold against legal histories: nothing."""
    starts = range(0, histories, LEGAL_AT_ONCE)
    lots = [range(start, min(start + LEGAL_AT_ONCE, histories)) for start in starts]
    for accusations in pool.map(accused, lots, [seed + 1_000_000] * len(lots)):
        yield from accusations


def accused(numbers: Sequence[int], seed: int) -> list[str]:
    """What all checks hold against these."""
    small = [Base(Legal(seed + number, SMALL)) for number in numbers]
    with _opened(relations(small, [None] * len(small))) as duck:
        return [
            f"legal history {seed + numbers[row['history']]}: {check.name} {row}"
            for check in all_checks().values()
            for row in held(asked(duck, check))
        ]


def _opened(tables: dict[str, pa.Table]) -> DuckDBEngine:
    duck = DuckDBEngine.over_tables(tables)
    duck._connection.execute("SET threads = 1")  # the processes share the machine
    return duck


def _alone() -> None:
    pa.set_cpu_count(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("anomalies", nargs="*", help="only these")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--legal", type=int, default=1_000)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; as many as there are cores")
    given = parser.parse_args()
    if unknown := sorted(set(given.anomalies) - injections().keys()):
        parser.error(f"nothing is known of {unknown[0]}; there are {', '.join(injections())}")
    return given


if __name__ == "__main__":
    sys.exit(main())

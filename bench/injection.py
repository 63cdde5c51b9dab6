"""How surely each anomaly is found: put into random legal histories, found again at its offsets; legal ones stay clean.

    python bench/injection.py --times 1000 --legal 10000

One line an anomaly: found k of n with the right place, beside the check alone on the same histories without it.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from checkers.check import all_checks
from checkers.duck import Duck
from tests.checkers.injections import INJECTIONS
from tests.checkers.legal_histories import Legal
from tests.checkers.wounded_tables import Base, asked, found, relations
from tests.checkers.wounds import Wound

AT_ONCE = 20
BASES = 20
SMALL = 150


def main() -> int:
    arguments = _arguments()
    missed = 0
    bases = [Base(Legal(arguments.seed + number, arguments.operations)) for number in range(BASES)]
    calls = sum(len(base.legal.operations) for base in bases) // BASES
    print(f"legal histories of {calls} operations, {BASES} of them; an anomaly at a random place of each", flush=True)
    for name in arguments.anomalies or INJECTIONS:
        began = time.monotonic()
        hits, false = search(name, bases, arguments.times, arguments.seed)
        missed += arguments.times - hits + false
        spent = time.monotonic() - began
        print(f"{name:30} found {hits} of {arguments.times}, {false} in the same without it, {spent:.1f} s", flush=True)
    accused = sum(1 for line in falsely(arguments.legal, arguments.seed) if print(line, flush=True) is None)
    print(f"legal histories of {SMALL} operations: {accused} accusations in {arguments.legal}")
    return 1 if missed or accused else 0


def search(name: str, bases: list[Base], times: int, seed: int) -> tuple[int, int]:
    """Of how many wounded histories the check finds the wound, and of how many legal ones it finds something."""
    hits = false = 0
    for start in range(0, times, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, times))
        chosen = [bases[number % len(bases)] for number in numbers]
        wounds = [
            Wound(base.legal, random.Random(f"{seed}/{name}/{n}")) for base, n in zip(chosen, numbers, strict=True)
        ]
        expected = [INJECTIONS[name](wound) for wound in wounds]
        check = all_checks()[expected[0].check]
        with Duck.over_tables(relations(chosen, wounds)) as duck:
            rows = asked(duck, check)
        hits += sum(found(rows, number, each) for number, each in enumerate(expected))
        if start == 0:
            with Duck.over_tables(relations(chosen, [None] * len(chosen))) as duck:
                false += len({row["history"] for row in asked(duck, check)})
    return hits, false


def falsely(histories: int, seed: int) -> Iterator[str]:
    """What all checks hold against legal histories: nothing."""
    for start in range(0, histories, 10 * AT_ONCE):
        numbers = range(start, min(start + 10 * AT_ONCE, histories))
        bases = [Base(Legal(seed + 1_000_000 + number, SMALL)) for number in numbers]
        with Duck.over_tables(relations(bases, [None] * len(bases))) as duck:
            for check in all_checks().values():
                for row in asked(duck, check):
                    yield f"legal history {seed + 1_000_000 + numbers[row['history']]}: {check.name} {row}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("anomalies", nargs="*", help="only these")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--legal", type=int, default=1_000)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""The fast path for a log against porcupine's search, on the same legal histories.

    python -m bench.linearizability [--timeout-s 30] [--memory-mb 2048] [operations x clients ...]

Closed-loop clients append a record or ask for the exact end, half and half: exact ends are what a search finds hard.
CPU seconds are compared, so that a busy machine does not decide: of the fast path on arrays in memory (the best of
several), and of porcupine's process from reading the history to its verdict. A search that ended in `unknown` took at
least as long as it says. Target: 100 times at 10000x10.
"""

import argparse
import random
import resource
import time

import numpy as np

from brokertrial.checkers.linearizability.log import APPEND, EXACT, LogOperations, violations
from brokertrial.checkers.linearizability.log_window import question
from brokertrial.checkers.linearizability.porcupine.build import helper
from brokertrial.checkers.linearizability.porcupine.client import rule
from brokertrial.checkers.linearizability.porcupine.process import Limits

SIZES = [(count, clients) for count in (1_000, 10_000, 100_000) for clients in (10, 50)]
REPEATS = 5


def closed_loop(operations: int, clients: int, rng: random.Random) -> LogOperations:
    """A legal history: each client calls, takes effect and returns in turn, and then calls again."""
    rows: list[tuple[int, int, int, int, int, int]] = []
    busy: dict[int, tuple[int, bool, int, int | None]] = {}
    started = end = now = 0
    while started < operations or busy:
        client, now = rng.randrange(clients), now + 1
        if client not in busy:
            if started < operations:
                started += 1
                busy[client] = (started, rng.random() < 0.5, now, None)
            continue
        number, appends, call, at = busy[client]
        if at is None:
            busy[client] = (number, appends, call, end)
            end += appends
        else:
            rows.append((APPEND if appends else EXACT, number, call, now, at, int(appends)))
            del busy[client]
    return LogOperations(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def fast(log: LogOperations) -> float:
    """CPU seconds of the fast path."""
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        legal = next(violations(log), None) is None
        best = min(best, time.process_time() - begin)
        assert legal
    return best


def searched(log: LogOperations, limits: Limits) -> tuple[float, str, int]:
    """CPU seconds of porcupine's process, its verdict, and the steps of its search."""
    asked = question(log)
    before = _children()
    answer = rule([asked], limits)[0]
    return _children() - before, f"{answer.ruling} {answer.reason}".strip(), answer.steps


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Prints a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", help="operations x clients, such as 10000x10")
    parser.add_argument("--timeout-s", type=float, default=30)
    parser.add_argument("--memory-mb", type=int, default=2048)
    given = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in given.sizes] or SIZES
    helper()
    print(f"{'operations':>10} {'clients':>8} {'fast path':>12} {'porcupine':>12} {'steps':>12} {'times':>8}  verdict")
    for operations, clients in sizes:
        log = closed_loop(operations, clients, random.Random(operations + clients))
        own = fast(log)
        other, verdict, steps = searched(log, Limits(given.timeout_s, given.memory_mb))
        more = ">" if verdict.startswith("unknown") else " "
        ratio = f"{more}{other / own:,.0f}"
        print(
            f"{operations:>10,} {clients:>8} {own * 1e3:>9.2f} ms {other:>10.2f} s {steps:>12,} {ratio:>8}  {verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""log-start-regression: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from brokertrial.histories.rows import Operation
from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.monotone import rows
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """Log starts that fell before any node was killed."""
    yield from rows(facts, "log-start")


def inject_log_start_regression(w: Wound) -> Expected:
    partition = w.rng.randrange(4)
    later = w.all(Operation, kind="fetch", client="asker", topic="t", partition=partition)
    one, after = later[-3], later[-1]
    w.change(one, log_start=2)
    return w.told("log-start-regression", after, offset_a=2, offset_b=0, op_a=one.op, op_b=after.op)

"""high-watermark-regression: its definition once more, as loops, how it is put into a legal history."""

from collections.abc import Iterator

from tests.checkers.oracle.facts import Facts, OracleRow
from tests.checkers.oracle.monotone import rows
from tests.checkers.picks import asked
from tests.checkers.wounds import Expected, Wound


def oracle(facts: Facts) -> Iterator[OracleRow]:
    """High watermarks of one leader epoch that fell."""
    yield from rows(facts, "high-watermark")


def inject_high_watermark_regression(w: Wound) -> Expected:
    one = asked(w, high_watermark=1, last_stable=1)
    return w.told("high-watermark-regression", one, offset_b=1, op_b=one.op)
